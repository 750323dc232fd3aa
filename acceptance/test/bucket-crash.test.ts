import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Bucket, startBucket } from '../src/bucket.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FileLink, type NewFile, sha256 } from '../src/files.js';
import type { List, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

const MIB = 1024 * 1024;
/** Sizes of files that are sent in the request, at once, and in two parts; parts have at least 5 MiB. */
const SIZES = [50_000, MIB, 6 * MIB];
const KILLS = 3;

// The S3-compatible server is installed where the others are.
const withServers = mode === 'mesh' ? test : test.skip;

let bucket: Bucket | undefined;
let system: OwnSystem | undefined;
let boss: Api;
let workspace: Workspace;

beforeAll(async () => {
  if (mode !== 'mesh') return;
  bucket = await startBucket();
  system = await startSystem({
    COMMONPLACE_S3_URL: bucket.url,
    COMMONPLACE_SINGLE_UPLOAD_BYTES: String(5 * MIB),
    COMMONPLACE_UPLOAD_PART_BYTES: String(5 * MIB),
  });
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Uploads' })).data;
}, 120_000);

afterAll(async () => {
  await system?.stop();
  await bucket?.stop();
});

/** Retries like a client, while there is no response or one that allows a retry. */
async function persistently(send: () => Promise<{ readonly status: number }>): Promise<boolean> {
  for (let left = 100; left > 0; left--) {
    const { status } = await send().catch(() => ({ status: 503 }));
    if (status < 300) return true;
    if (status < 500) return false;
    await sleep(100);
  }
  return false;
}

/** Uploads a file whose name is its checksum. Returns its id if it was stored completely. */
async function upload(size: number): Promise<string | undefined> {
  const bytes = randomBytes(size);
  const sum = sha256(bytes);
  const about = { name: sum, workspace_id: workspace.id, size_bytes: size, checksum_sha256: sum };
  const inline = size < 100_000 ? { content_base64: bytes.toString('base64') } : {};
  const headers = { 'Idempotency-Key': randomUUID() };
  let made: NewFile | undefined;
  await persistently(async () => {
    const reply = await boss.post<NewFile>('/files', { ...about, ...inline }, { headers });
    if (reply.status === 201) made = reply.data;
    return reply;
  });
  if (made === undefined) return undefined;
  const { resource, upload: wanted } = made;
  const put = (url: string, body: Uint8Array) =>
    persistently(() => fetch(url, { method: 'PUT', body: new Uint8Array(body), headers: wanted?.headers ?? {} }));
  if (wanted?.url && !(await put(wanted.url, bytes))) return undefined;
  for (const part of wanted?.parts ?? []) {
    if (!(await put(part.url, bytes.subarray(part.offset, part.offset + part.size_bytes)))) return undefined;
  }
  return resource.id;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly file: { readonly status: string };
}

async function listed(): Promise<readonly Listed[]> {
  return (await boss.get<List<Listed>>(`/workspaces/${workspace.id}/resources?type=file&limit=200`)).data.items;
}

async function sumOf(id: string): Promise<string> {
  const { data } = await boss.get<FileLink>(`/resources/${id}/file`);
  return sha256(new Uint8Array(await (await fetch(data.download_url)).arrayBuffer()));
}

withServers(
  'uploads outlast the death of the bucket: what was taken is there, and none hangs',
  async () => {
    const taken: string[] = [];
    let going = true;
    const uploaders = SIZES.map(async (size) => {
      while (going) {
        const id = await upload(size);
        if (id !== undefined) taken.push(id);
      }
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(700);
      await bucket?.kill();
      await sleep(300);
      await bucket?.restart();
    }
    await sleep(700);
    going = false;
    await Promise.all(uploaders);
    expect(taken.length).toBeGreaterThan(SIZES.length);
    const files = await eventually(async () => {
      const all = await listed();
      expect(all.filter(({ file }) => file.status !== 'ready' && file.status !== 'failed')).toEqual([]);
      return all;
    }, 60_000);
    const ready = new Set(files.filter(({ file }) => file.status === 'ready').map(({ id }) => id));
    expect(taken.filter((id) => !ready.has(id))).toEqual([]);
    for (const { id, name } of files) if (ready.has(id)) expect(await sumOf(id)).toBe(name);
  },
  180_000,
);
