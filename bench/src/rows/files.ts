import { randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench } from '../bench.js';
import { createWorkspace } from '../fill.js';
import type { Client } from '../http.js';
import type { Row } from '../row.js';

const MIB = 1024 * 1024;
/** Size of a file in bytes. Below, number of files of a run, which are transferred one after another. */
const BYTES = 64 * MIB;
const FILES = 6;
const UPLOAD_FLOOR = 0.15;
const DOWNLOAD_FLOOR = 0.2;

interface NewFile {
  readonly resource: { readonly id: string };
  readonly upload: { readonly url: string };
}

/** Measures uploads and downloads of files, compared with copying the same bytes from file to file with a sync. */
export async function measureFiles(bench: Bench): Promise<Row> {
  const { client } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Files');
  const bytes = randomBytes(BYTES);
  const copying = await copySpeed(bytes);
  const ids: string[] = [];
  const uploading = await speedOf(async () => {
    ids.push(await uploadOne(client, workspaceId, bytes));
  });
  const downloading = await speedOf(async (i) => {
    const { download_url: url } = await client.ask<{ download_url: string }>('GET', `/resources/${ids[i]}/file`);
    await exchange('GET', url);
  });
  const beside = (what: string, speed: number, floor: number) =>
    ({ what: `${what} beside a synced copy`, value: speed / copying, unit: '', right: 'at least', floor }) as const;
  return {
    figures: [],
    checks: [beside('upload', uploading, UPLOAD_FLOOR), beside('download', downloading, DOWNLOAD_FLOOR)],
    notes: [
      `${FILES} files of ${BYTES / MIB} MiB, one after the other, checked by SHA-256 and synced before the answer`,
      `upload ${Math.round(uploading)} MB/s, download ${Math.round(downloading)} MB/s, copy ${Math.round(copying)} MB/s`,
    ],
  };
}

/** Returns the speed of transferring all files in megabytes per second. */
async function speedOf(one: (index: number) => Promise<void>): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < FILES; i++) await one(i);
  return (FILES * BYTES) / 1000 / (performance.now() - started);
}

async function uploadOne(client: Client, workspaceId: string, bytes: Buffer): Promise<string> {
  const body = { name: 'Bench', workspace_id: workspaceId, size_bytes: bytes.length };
  const { resource, upload } = await client.ask<NewFile>('POST', '/files', body);
  await exchange('PUT', upload.url, bytes);
  return resource.id;
}

/** Sends one request, and reads and discards its answer. Rejects unless the status is 200. */
function exchange(method: string, url: string, body?: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-length': body.length };
    const outgoing = request(url, { method, headers }, (incoming) => {
      incoming.once('error', reject).once('end', () => {
        if (incoming.statusCode === 200) resolve();
        else reject(new Error(`${method} answers ${incoming.statusCode}`));
      });
      incoming.resume();
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/** Returns the speed of synced copies from file to file in megabytes per second, on the disk that the system uses. */
async function copySpeed(bytes: Buffer): Promise<number> {
  const folder = await mkdtemp(join(ROOT, 'bench/data/copy-'));
  try {
    const source = join(folder, 'source');
    await writeFile(source, bytes);
    return await speedOf(async (i) => {
      const target = join(folder, `${i}`);
      await copyFile(source, target);
      const file = await open(target, 'r+');
      await file.sync();
      await file.close();
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
