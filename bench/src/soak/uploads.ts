import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import { createWorkspace } from '../fill.js';
import type { Client } from '../http.js';

/** Number of concurrent uploads when the system is killed. */
export const UPLOADERS = 4;
const MIB = 1024 * 1024;
/** Settings with which even small files are uploaded in parts. */
export const UPLOAD_SETTINGS = {
  COMMONPLACE_SINGLE_UPLOAD_BYTES: String(MIB),
  COMMONPLACE_UPLOAD_PART_BYTES: String(256 * 1024),
  // The sample is off, because its pictures would be bytes that belong to no listed file.
  COMMONPLACE_SAMPLE: '0',
};
/** Milliseconds within which the system must clean up after a crash. */
const TIMEOUT_MS = 20_000;
const PAGE = 200;

/** The uploads that were acknowledged to clients. The name of a file is the checksum that its bytes must have. */
export interface Uploads {
  readonly workspaceId: string;
  /** Ids of files that were acknowledged as ready, or whose last part was accepted. */
  readonly taken: Set<string>;
  readonly refusals: string[];
}

interface NewFile {
  readonly resource: { readonly id: string };
  readonly file: { readonly status: string };
  readonly upload: {
    readonly url: string | null;
    readonly parts: readonly { readonly url: string; readonly offset: number; readonly size_bytes: number }[] | null;
  } | null;
}

export async function createUploads(client: Client): Promise<Uploads> {
  return { workspaceId: await createWorkspace(client, 'Uploads'), taken: new Set(), refusals: [] };
}

/** Uploads one file after another until the system stops answering. */
export async function runUploader(client: Client, uploads: Uploads): Promise<void> {
  for (;;) {
    const bytes = randomBytes(randomInt(1, 2 * MIB));
    try {
      const { id } = await uploadOne(client, uploads.workspaceId, bytes);
      uploads.taken.add(id);
    } catch (error) {
      if (error instanceof Refused) uploads.refusals.push(error.message);
      return;
    }
  }
}

class Refused extends Error {}

/** A file whose bytes were accepted, and the answer that acknowledged the last of them. */
interface Uploaded {
  readonly id: string;
  readonly sha256: string;
  readonly requestId: string;
  /**
   * Whether the answer to the creation stated that the file is ready. Uploaded bytes are checked after their answer.
   */
  readonly ready: boolean;
}

/** Uploads a file inline, by one URL or in parts, depending on its size. Rejects if the upload is refused. */
export async function uploadOne(client: Client, workspaceId: string, bytes: Buffer): Promise<Uploaded> {
  const sum = sumOf(bytes);
  const inline = bytes.length < 300_000 ? { content_base64: bytes.toString('base64') } : {};
  const about = { workspace_id: workspaceId, size_bytes: bytes.length, checksum_sha256: sum };
  const { status, text, headers } = await client.send('POST', '/files', { name: sum, ...about, ...inline });
  if (status !== 201) throw new Refused(`POST /files answers ${status} ${text.slice(0, 200)}`);
  const { resource, file, upload } = (JSON.parse(text) as { data: NewFile }).data;
  let requestId = String(headers['x-request-id']);
  if (upload?.url) requestId = await put(upload.url, bytes);
  for (const part of upload?.parts ?? []) {
    requestId = await put(part.url, bytes.subarray(part.offset, part.offset + part.size_bytes));
  }
  return { id: resource.id, sha256: sum, requestId, ready: file.status === 'ready' };
}

async function put(url: string, bytes: Buffer): Promise<string> {
  const answer = await fetch(url, { method: 'PUT', body: new Uint8Array(bytes) });
  if (!answer.ok) throw new Refused(`PUT answers ${answer.status} ${(await answer.text()).slice(0, 200)}`);
  return answer.headers.get('x-request-id') ?? '';
}

function sumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly file: { readonly status: string; readonly size_bytes: number } | null;
}

/**
 * Returns the faults after a crash, once the system has had time to clean up. An accepted file must be ready, a ready
 * file must have the bytes that its name states, and the data folder must contain no other bytes.
 */
export async function checkUploads(client: Client, rounds: readonly Uploads[], home: string): Promise<string[]> {
  const until = performance.now() + TIMEOUT_MS;
  for (;;) {
    const faults = await faultsOf(client, rounds, home);
    if (faults.length === 0 || performance.now() > until) return faults;
    await sleep(200);
  }
}

async function faultsOf(client: Client, rounds: readonly Uploads[], home: string): Promise<string[]> {
  const files = (await forEach([...rounds], 4, ({ workspaceId }) => listFiles(client, workspaceId))).flat();
  const ready = new Map(files.filter(({ file }) => file?.status === 'ready').map((one) => [one.id, one]));
  const last = rounds.at(-1);
  const missing = [...(last?.taken ?? [])]
    .filter((id) => !ready.has(id))
    .map((id) => `${id} was taken and is not ready`);
  const stuck = files
    .filter(({ file }) => file?.status !== 'ready' && file?.status !== 'pending_upload')
    .map(({ id, file }) => `${id} is ${file?.status}`);
  const mine = new Set((await listFiles(client, last?.workspaceId ?? '')).map(({ id }) => id));
  const wrong = await forEach(
    [...ready.values()].filter(({ id }) => mine.has(id)),
    8,
    (one) => compare(client, one),
  );
  return [...missing, ...stuck, ...wrong.flat(), ...orphans(home, [...ready.values()])];
}

async function listFiles(client: Client, workspaceId: string): Promise<Listed[]> {
  const all: Listed[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const path = `/workspaces/${workspaceId}/resources?type=file&limit=${PAGE}&offset=${offset}`;
    const { items } = await client.ask<{ items: Listed[] }>('GET', path);
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

async function compare(client: Client, { id, name }: Listed): Promise<string[]> {
  const link = await client.send('GET', `/resources/${id}/file`);
  if (link.status !== 200) return [`${id}: its link answers ${link.status}`];
  const { data } = JSON.parse(link.text) as { data: { download_url: string; checksum_sha256: string } };
  const answer = await fetch(data.download_url);
  const sum = sumOf(new Uint8Array(await answer.arrayBuffer()));
  return sum === name && data.checksum_sha256 === name ? [] : [`${id}: other bytes than were uploaded`];
}

/**
 * Compares the number and sizes of stored files with those of ready ones. Returns a fault if they differ, or if
 * incomplete uploads are left. Bytes that became no file stay in the trash until its retention ends and are ignored.
 */
function orphans(home: string, ready: readonly Listed[]): string[] {
  const folder = join(home, 'data/files');
  const trash = join(folder, 'blobs/trash');
  const sizes = (name: string) =>
    readdirSync(join(folder, name), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(trash))
      .map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0)
      .sort((a, b) => a - b);
  const stored = sizes('blobs').join();
  const known = ready
    .map(({ file }) => file?.size_bytes ?? 0)
    .sort((a, b) => a - b)
    .join();
  const half = sizes('put').length;
  return [
    ...(stored === known ? [] : [`${sizes('blobs').length} blobs are stored for ${ready.length} files`]),
    ...(half === 0 ? [] : [`${half} puts are left half done`]),
  ];
}
