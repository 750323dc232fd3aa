import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DATABASE_FILE, RESTORE_MARKER } from '@commonplace/platform/runtime';
import pLimit from 'p-limit';
import { CommandError, EXIT } from '../exit.js';
import type { Progress } from '../progress.js';
import { bytesOf } from './files.js';
import { BLOBS, type Entry, FORMAT, KEY_FILES, MANIFEST, type Manifest } from './manifest.js';
import { openSink, type Sink } from './sink.js';
import { takeSnapshot } from './snapshot.js';
import { openStage, type Stage } from './stage.js';

interface BackupOptions {
  readonly dataDir: string;
  /** Target of the backup; see `openSink`. */
  readonly to: string | Sink;
  /** Whether the bytes of files are in a bucket, which the backup does not include. */
  readonly bucket: boolean;
}

/** Backs up a data folder, which may be in use. Returns the manifest. A failed backup leaves nothing behind. */
export async function takeBackup({ dataDir, to, bucket }: BackupOptions, progress: Progress): Promise<Manifest> {
  if (!existsSync(join(dataDir, DATABASE_FILE))) {
    throw new CommandError(EXIT.missing, `there is no ${DATABASE_FILE} in ${dataDir}: name the data folder`);
  }
  if (existsSync(join(dataDir, RESTORE_MARKER))) {
    throw new CommandError(EXIT.failed, `the restore of ${dataDir} is incomplete: restore it again`);
  }
  const createdAt = new Date().toISOString();
  const sink = typeof to === 'string' ? await openSink(to) : to;
  let stage: Stage | undefined;
  try {
    stage = await openStage(dataDir);
    const { keys, missing, records, events } = await takeSnapshot(stage, progress, !bucket);
    const sources = new Map([[DATABASE_FILE, stage.database]]);
    for (const name of KEY_FILES) if (existsSync(join(dataDir, name))) sources.set(name, join(dataDir, name));
    for (const key of keys) sources.set(BLOBS + key, stage.blob(key));
    const files = await addAll(sink, sources, progress);
    const manifest: Manifest = {
      product: 'commonplace',
      format: FORMAT,
      createdAt,
      records,
      events,
      blobs: keys.length,
      missingBlobs: [...missing],
      bytesOfFiles: bucket ? 'bucket' : 'included',
      files,
    };
    await sink.seal(MANIFEST, `${JSON.stringify(manifest, null, 1)}\n`);
    return manifest;
  } catch (error) {
    await sink.abort();
    throw error;
  } finally {
    await stage?.remove();
    progress.end();
  }
}

async function addAll(sink: Sink, sources: ReadonlyMap<string, string>, progress: Progress): Promise<Entry[]> {
  const sizes = new Map<string, number>();
  for (const [path, from] of sources) sizes.set(path, (await stat(from)).size);
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  await sink.requireRoom(total);
  progress.step('Writing the backup', total);
  const limit = pLimit(sink.atOnce);
  let failed = false;
  const one = async ([path, from]: [string, string]): Promise<Entry> => {
    if (failed) throw new Error('given up');
    try {
      const measured = await sink.add(path, bytesOf(from), sizes.get(path) ?? 0);
      progress.add(measured.sizeBytes);
      return { path, ...measured };
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const outcomes = await Promise.allSettled([...sources].map((source) => limit(() => one(source))));
  const fault = outcomes.find((outcome) => outcome.status === 'rejected');
  if (fault !== undefined) throw fault.reason;
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Entry>).value);
}
