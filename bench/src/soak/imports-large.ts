import { mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorkspace } from '../fill.js';
import { type Client, openClient } from '../http.js';
import { cpuSeconds, residentMiB } from '../processes.js';
import { settle, startSystem } from '../system.js';
import { type LargeArchive, writeLargeArchive } from './large-archive.js';
import type { Tally } from './tally.js';

/** Mebibytes that an import may use above what the idle system uses. */
const MOST_MIB = 300;
const SAMPLE_MS = 200;
const LOOK_MS = 500;
/** One in so many polls is printed: one every half minute. */
const TOLD = 60;
/** Maximum number of tries for an answer that a busy server refuses, each after the `Retry-After` time. */
const MOST_TRIES = 60;
/** Milliseconds allowed for a page of 34 KB; an idle machine takes 6. */
const PATIENCE_MS_A_PAGE = 100;

interface Import {
  readonly id: string;
  readonly status: string;
  readonly stats: Readonly<Record<string, number>>;
  readonly error: { readonly message: string } | null;
  readonly progress: { readonly phase: string; readonly succeeded: number; readonly total: number };
  readonly upload: { readonly parts: readonly Part[] | null; readonly url: string | null } | null;
}

interface Part {
  readonly url: string;
  readonly offset: number;
  readonly size_bytes: number;
}

interface Listed {
  readonly data: { readonly items: readonly { readonly id: string }[] };
  readonly page: { readonly next_cursor: string | null };
}

/** Imports a large archive into a newly started system, and samples its memory meanwhile. */
export async function soakLargeImport(pages: number, home: string, tally: Tally): Promise<void> {
  mkdirSync(home, { recursive: true });
  const path = join(home, 'archive.zip');
  const archive = await writeLargeArchive(path, pages);
  console.log(`an archive of ${pages} pages and ${archive.images} images: ${Math.round(archive.bytes / 1e6)} MB`);
  const system = await startSystem({ home });
  const client = openClient(system.baseUrl, system.apiKey, 4);
  try {
    await settle(system.pids);
    const memory = watchMemory(system.pid);
    const started = performance.now();
    const workspaceId = await createWorkspace(client, 'Large');
    const id = await upload(client, workspaceId, path, archive.bytes);
    rmSync(path);
    console.log(`uploaded after ${since(started)}: ${memory.text()}`);
    const cpu = watchCpu(system.pids);
    const told = (succeeded: number) => `${memory.text()}, ${cpu(succeeded)}, ${since(started)}`;
    const done = await untilOver(client, id, pages * PATIENCE_MS_A_PAGE, told);
    console.log(`imported after ${since(started)}: ${memory.text()}`);
    tally.check('a large import is whole', await faultsOf(client, workspaceId, done, archive));
    const over = Math.round(memory.most() - memory.idle);
    const fault = `it takes ${over} MiB above the ${Math.round(memory.idle)} of an idle system`;
    tally.check(`a large import takes less than ${MOST_MIB} MiB`, over < MOST_MIB ? [] : [fault]);
    memory.stop();
  } finally {
    client.close();
    await system.stop();
  }
}

/** Samples the memory of a process from now on; `idle` is what it holds now. All in MiB. */
function watchMemory(pid: number) {
  const idle = residentMiB(pid);
  let now = idle;
  let most = idle;
  const timer = setInterval(() => {
    now = residentMiB(pid);
    most = Math.max(most, now);
  }, SAMPLE_MS);
  return {
    idle,
    most: () => most,
    text: () => `${Math.round(now - idle)} MiB above ${Math.round(idle)}, ${Math.round(most - idle)} at the most`,
    stop: () => clearInterval(timer),
  };
}

/**
 * Returns a function that describes the processor time per item since its last call; its argument is the number of
 * items done so far.
 */
function watchCpu(pids: () => readonly number[]): (items: number) => string {
  let before = { items: 0, seconds: cpuSeconds(pids()) };
  return (items) => {
    const now = { items, seconds: cpuSeconds(pids()) };
    const each = (1000 * (now.seconds - before.seconds)) / (items - before.items);
    before = now;
    return Number.isFinite(each) ? `${each.toFixed(1)} ms of processor time an item` : 'no items';
  };
}

/** Uploads a file as the source of an import, part by part. Returns the import's id. */
async function upload(client: Client, workspaceId: string, path: string, sizeBytes: number): Promise<string> {
  const body = { source_type: 'markdown_zip', name: 'Large', upload: true, size_bytes: sizeBytes };
  const { id, upload } = await client.ask<Import>('POST', `/workspaces/${workspaceId}/imports`, body);
  const parts = upload?.parts ?? [{ url: upload?.url ?? '', offset: 0, size_bytes: sizeBytes }];
  const file = await open(path);
  try {
    for (const part of parts) await put(file, part);
  } finally {
    await file.close();
  }
  return id;
}

async function put(file: FileHandle, { url, offset, size_bytes: length }: Part): Promise<void> {
  const bytes = new Uint8Array(length);
  await file.read(bytes, 0, length, offset);
  const answer = await fetch(url, { method: 'PUT', body: bytes });
  if (!answer.ok) throw new Error(`PUT answers ${answer.status} ${(await answer.text()).slice(0, 200)}`);
}

async function untilOver(
  client: Client,
  id: string,
  patienceMs: number,
  tell: (succeeded: number) => string,
): Promise<Import> {
  const until = performance.now() + patienceMs;
  for (let looks = 1; ; looks++) {
    const { data: now } = await read<{ data: Import }>(client, `/imports/${id}`);
    if (!['pending_upload', 'queued', 'running'].includes(now.status) || performance.now() > until) return now;
    const { phase, succeeded, total } = now.progress;
    if (looks % TOLD === 0) console.log(`${phase}: ${succeeded} of ${total} items; ${tell(succeeded)}`);
    await sleep(LOOK_MS);
  }
}

async function faultsOf(
  client: Client,
  workspaceId: string,
  { status, stats, error }: Import,
  { pages, images, folders }: LargeArchive,
): Promise<string[]> {
  if (status !== 'completed') return [`the import is ${status}: ${error?.message ?? ''}`];
  const expected = { documents: pages, files: images, folders, links_broken: 0 };
  const faults = Object.entries(expected).flatMap(([name, count]) =>
    stats[name] === count ? [] : [`${stats[name]} ${name}, not ${count}`],
  );
  const counts = { document: pages, file: images, folder: folders + 1 };
  for (const [type, count] of Object.entries(counts)) {
    const there = await countOf(client, workspaceId, type);
    if (there !== count) faults.push(`${there} resources are a ${type}, not ${count}`);
  }
  return faults;
}

/** Returns the number of resources of a type, counted one by one. */
async function countOf(client: Client, workspaceId: string, type: string): Promise<number> {
  const ids = new Set<string>();
  for (let cursor = ''; ; ) {
    const path = `/workspaces/${workspaceId}/resources?type=${type}&limit=200${cursor && `&cursor=${cursor}`}`;
    const { data, page } = await read<Listed>(client, path);
    for (const { id } of data.items) ids.add(id);
    cursor = page.next_cursor ?? '';
    if (cursor === '') return ids.size;
  }
}

/** Returns the answer to a GET; retries one that is refused by overload. */
async function read<T>(client: Client, path: string): Promise<T> {
  for (let tries = 1; ; tries++) {
    const { status, headers, text } = await client.send('GET', path);
    if (status === 200) return JSON.parse(text) as T;
    if (status !== 503 || tries === MOST_TRIES) {
      throw new Error(`GET ${path} answers ${status}: ${text.slice(0, 200)}`);
    }
    await sleep(1000 * Number(headers['retry-after'] ?? 1));
  }
}

function since(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(0)} s`;
}
