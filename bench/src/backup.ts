// Measures the backup of an embedded system while it serves writes, uploads and deletions, and its restore, and
// compares both with their limits. The exit code is 1 if a limit is missed, if a backup with a flipped bit is accepted,
// or if the restored system does not serve the same data.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import { createResource, createWorkspace, fillWorkspace, type Made } from './fill.js';
import { type Client, openClient } from './http.js';
import { wholeNumber } from './options.js';
import { createTally, type Tally } from './soak/tally.js';
import { startSystem } from './system.js';

const { values } = parseArgs({
  options: { documents: { type: 'string', default: '50000' }, blobs: { type: 'string', default: '5000' } },
});
const [documents, blobs] = [wholeNumber(values.documents), wholeNumber(values.blobs)];
const BACKUP_SECONDS = 60;
const RESTORE_SECONDS = 120;
const BLOB_BYTES = 32 * 1024;
/** Number of files whose bytes are read from the restored system. */
const ASKED = 50;

interface Answer {
  readonly seconds: number;
  readonly bytes: number;
  readonly blobs: number;
  readonly records: Readonly<Record<string, number>>;
}

function commonplace(...args: string[]): Promise<{ code: number | null; answer: Answer }> {
  const command = [join(ROOT, 'cli/commonplace.mjs'), ...args, '--json'];
  const child = spawn(process.execPath, command, { env: inherited(), stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, answer: JSON.parse(text) as Answer })));
}

async function addFile(client: Client, workspaceId: string, name: string): Promise<[id: string, sha256: string]> {
  const bytes = randomBytes(BLOB_BYTES);
  const body = { name, workspace_id: workspaceId, content_base64: bytes.toString('base64') };
  const { resource } = await client.ask<{ resource: Made }>('POST', '/files', body);
  return [resource.id, createHash('sha256').update(bytes).digest('hex')];
}

/**
 * Writes, uploads and deletes until stopped. Returns a function that stops it and resolves with the number of rounds.
 */
function keepBusy(client: Client): () => Promise<number> {
  let stopped = false;
  const done = (async () => {
    const workspaceId = await createWorkspace(client, 'Busy');
    let count = 0;
    for (; !stopped; count++) {
      const fields = { type: 'document', name: `Busy ${count}`, workspace_id: workspaceId, content: 'Text' };
      const id = await createResource(client, fields);
      const [file] = await addFile(client, workspaceId, `${count}.bin`);
      if (count % 2 === 0) for (const gone of [id, file]) await client.ask('DELETE', `/resources/${gone}`);
    }
    return count;
  })();
  return () => {
    stopped = true;
    return done;
  };
}

async function run(home: string, tally: Tally): Promise<void> {
  const system = await startSystem({ home });
  const client = openClient(system.baseUrl, system.apiKey, 16);
  const sums = new Map<string, string>();
  try {
    const { workspaceId, seconds } = await fillWorkspace(client, 'Kept', documents, Math.ceil(documents / 500));
    const numbers = Array.from({ length: blobs }, (_, i) => i);
    for (const [id, sum] of await forEach(numbers, 16, (i) => addFile(client, workspaceId, `${i}.bin`))) {
      sums.set(id, sum);
    }
    console.log(`${documents} documents (${seconds.toFixed(0)} s) and ${blobs} blobs of ${BLOB_BYTES} bytes are there`);
    const stop = keepBusy(client);
    for (const to of ['backup', 'backup.tar']) {
      const { code, answer } = await commonplace('backup', '--data-dir', join(home, 'data'), '--to', join(home, to));
      const said = `${to}: ${answer.seconds} s for ${Math.round(answer.bytes / 2 ** 20)} MiB, ${answer.blobs} blobs`;
      console.log(`backup to ${said} while serving (limit ${BACKUP_SECONDS} s)`);
      tally.check(`backup to ${to}`, [
        ...(code === 0 ? [] : [`it ended with ${code}`]),
        ...(answer.seconds <= BACKUP_SECONDS ? [] : ['it took too long']),
        ...(answer.blobs >= blobs ? [] : ['blobs are missing']),
        ...((answer.records['resources.nodes'] ?? 0) >= documents + blobs ? [] : ['records are missing']),
      ]);
    }
    console.log(`${await stop()} documents and files were written meanwhile`);
  } finally {
    client.close();
    await system.stop();
  }
  for (const from of ['backup', 'backup.tar']) await restoreAndAsk(home, from, sums, tally);
  await refuseFlipped(home, tally);
}

async function restoreAndAsk(home: string, from: string, sums: Map<string, string>, tally: Tally): Promise<void> {
  const place = join(home, `restored-${from}`);
  const to = join(place, 'data');
  mkdirSync(place);
  const { code, answer } = await commonplace('restore', '--from', join(home, from), '--to', to);
  console.log(`restore of ${from}: ${answer.seconds} s (limit ${RESTORE_SECONDS} s)`);
  tally.check(`restore of ${from}`, [
    ...(code === 0 ? [] : [`it ended with ${code}`]),
    ...(answer.seconds <= RESTORE_SECONDS ? [] : ['it took too long']),
  ]);
  await serveSame(home, place, sums, tally);
  rmSync(place, { recursive: true });
}

/**
 * Checks that a restored system serves the same files. The owner's key of the first system is also valid in the
 * restored one.
 */
async function serveSame(home: string, place: string, sums: Map<string, string>, tally: Tally): Promise<void> {
  copyFileSync(join(home, 'bootstrap.json'), join(place, 'bootstrap.json'));
  const system = await startSystem({ home: place });
  const client = openClient(system.baseUrl, system.apiKey, 8);
  try {
    const asked = [...sums].slice(0, ASKED);
    const wrong = await forEach(asked, 8, async ([id, sum]) => {
      const { checksum_sha256: statedSum, download_url: url } = await client.ask<{
        checksum_sha256: string;
        download_url: string;
      }>('GET', `/resources/${id}/file`);
      const answer = await fetch(url.replace(/^https?:\/\/[^/]+/, system.baseUrl));
      const found = createHash('sha256').update(Buffer.from(await answer.arrayBuffer()));
      return statedSum === sum && found.digest('hex') === sum ? [] : [`${id} has other bytes`];
    });
    tally.check(`${asked.length} files of the restored system have their bytes`, wrong.flat());
  } finally {
    client.close();
    await system.stop();
  }
}

async function refuseFlipped(home: string, tally: Tally): Promise<void> {
  const file = join(home, 'backup.tar');
  const at = Math.floor(statSync(file).size * 0.7);
  const byte = Buffer.alloc(1);
  const handle = openSync(file, 'r+');
  readSync(handle, byte, 0, 1, at);
  byte[0] = (byte[0] as number) ^ 1;
  writeSync(handle, byte, 0, 1, at);
  closeSync(handle);
  const { code } = await commonplace('restore', '--from', file, '--to', join(home, 'flipped'));
  tally.check('a flipped bit is refused', code === 65 ? [] : [`it ended with ${code}`]);
}

mkdirSync(join(ROOT, 'bench/data'), { recursive: true });
const home = mkdtempSync(join(ROOT, 'bench/data/backup-'));
const tally = createTally();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
try {
  await run(home, tally);
} catch (error) {
  tally.check('the run', [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
}
rmSync(home, { recursive: true, force: true });
console.log(`${tally.passed} passed, ${tally.failed} failed`);
process.exit(tally.failed === 0 ? 0 : 1);
