import { once } from 'node:events';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { startThread } from '@commonplace/kit/program';

/**
 * Copies a database as it is at one moment, in a separate thread, so that neither readers nor the writer wait. The copy
 * gets its name only once it is complete and synced. Rejects if a file with that name exists.
 */
export async function backUp(from: string, path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined)) !== undefined) throw new Error(`${path} exists already`);
  const to = `${path}.part`;
  await rm(to, { force: true });
  try {
    await copy(from, to);
    await sync(to);
    await rename(to, path);
    await sync(dirname(path));
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  }
}

async function copy(from: string, to: string): Promise<void> {
  const thread = startThread(new URL('./backup-thread.js', import.meta.url), {
    workerData: { from, to },
    name: 'store-backup',
  });
  const [code] = (await once(thread, 'exit')) as [number];
  if (code !== 0) throw new Error(`the copy ended with code ${code}`);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
