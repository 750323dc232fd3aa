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

/** Maximum memory in MiB that an import may use in addition to that of the idle system. */
const MAX_MIB = 350;
const SAMPLE_MS = 200;
const POLL_INTERVAL_MS = 500;
/** Every how many polls one is printed. It results in a line every half minute. */
const PRINT_EVERY = 60;
/** Maximum number of attempts for a request that a busy server refuses, each after its `Retry-After` time. */
const MAX_TRIES = 60;
/** Milliseconds allowed per page of 34 KB. An idle machine takes 6 ms. */
const TIMEOUT_MS_PER_PAGE = 100;

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

/** Imports a large archive into a newly started system, and samples the system's memory meanwhile. */
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
    const describe = (succeeded: number) => `${memory.text()}, ${cpu(succeeded)}, ${since(started)}`;
    const done = await untilOver(client, id, pages * TIMEOUT_MS_PER_PAGE, describe);
    console.log(`imported after ${since(started)}: ${memory.text()}`);
    tally.check('a large import is whole', await faultsOf(client, workspaceId, done, archive));
    const over = Math.round(memory.most() - memory.idle);
    const fault = `it takes ${over} MiB above the ${Math.round(memory.idle)} of an idle system`;
    tally.check(`a large import takes less than ${MAX_MIB} MiB`, over < MAX_MIB ? [] : [fault]);
    memory.stop();
  } finally {
    client.close();
    await system.stop();
  }
}

/** Samples the memory of a process from now on. `idle` is its current memory. All values are in MiB. */
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
 * Returns a function that describes the processor time per item since its previous call. Its argument is the number of
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

/** Uploads a file in parts as the source of an import. Returns the id of the import. */
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
  timeoutMs: number,
  describe: (succeeded: number) => string,
): Promise<Import> {
  const until = performance.now() + timeoutMs;
  for (let looks = 1; ; looks++) {
    const { data: now } = await read<{ data: Import }>(client, `/imports/${id}`);
    if (!['pending_upload', 'queued', 'running'].includes(now.status) || performance.now() > until) return now;
    const { phase, succeeded, total } = now.progress;
    if (looks % PRINT_EVERY === 0) console.log(`${phase}: ${succeeded} of ${total} items; ${describe(succeeded)}`);
    await sleep(POLL_INTERVAL_MS);
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

/** Counts the resources of a type by listing them. */
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

/** Returns the answer to a GET. Repeats requests that are refused because of overload. */
async function read<T>(client: Client, path: string): Promise<T> {
  for (let tries = 1; ; tries++) {
    const { status, headers, text } = await client.send('GET', path);
    if (status === 200) return JSON.parse(text) as T;
    if (status !== 503 || tries === MAX_TRIES) {
      throw new Error(`GET ${path} answers ${status}: ${text.slice(0, 200)}`);
    }
    await sleep(1000 * Number(headers['retry-after'] ?? 1));
  }
}

function since(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(0)} s`;
}
