import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newKey, signUp } from '@commonplace/acceptance/dist/src/people.js';
import { freePort } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace, fillWorkspace, type Made, sentence } from '../fill.js';
import { type Client, openClient } from '../http.js';
import { percentile } from '../quality/measures.js';
import type { Check, Row } from '../row.js';
import { settle } from '../system.js';
import { importArchive, readArchive } from './import.js';
import { createRows, fillTable } from './table.js';

/** Maximum time in milliseconds for which a request of one tenant may block the event loop. */
const MAX_HELD_MS = 20;
const READERS = 4;
const BLOCKS = 20_000;
const SETTLE_SECONDS = 900;
const QUIET_MS = 3000;

/** An expensive request of one Org. */
interface Long {
  readonly name: string;
  run(): Promise<unknown>;
}

interface Seen {
  readonly name: string;
  readonly tookMs: number;
  readonly p50: number;
  readonly p99: number;
  /** Longest time for which the event loop was blocked, as seen by a timer of one millisecond. */
  readonly heldMs: number;
}

/**
 * Measures how an expensive request of one Org affects others: the latencies of another person's reads, and how long
 * the event loop of the only process is blocked. Each request is sent once, to a system that has not seen it before.
 */
export async function measureHeld(bench: Bench): Promise<Row> {
  const delayPort = await freePort();
  const preload = fileURLToPath(new URL('../subjects/loop-delay.js', import.meta.url));
  const measured = await bench.start('held', {
    settings: {
      COMMONPLACE_SIGN_UP: 'open',
      // On a busy machine the expensive requests take longer than the default limits.
      COMMONPLACE_REQUEST_TIMEOUT_MS: '300000',
      COMMONPLACE_DOCUMENT_SECONDS: '120',
      COMMONPLACE_BENCH_DELAY_PORT: String(delayPort),
      NODE_OPTIONS: `--import=${preload}`,
    },
  });
  let reader: Client | undefined;
  try {
    const other = await signUp(measured.system, 'Reader');
    const { key } = await newKey(other, ['resource:read', 'resource:write', 'workspace:read', 'workspace:write']);
    reader = openClient(measured.system.baseUrl, key, READERS);
    const { data: place } = await other.post<Made>('/workspaces', { name: 'Reader' });
    const id = await createResource(reader, {
      type: 'document',
      name: 'Read',
      workspace_id: place.id,
      content: 'Text',
    });
    const read = () => reader?.ask('GET', `/resources/${id}`);
    const longs = await createLongs(bench, measured);
    await settle(measured.system.pids, SETTLE_SECONDS);
    const quiet: Long = { name: 'nothing', run: () => sleep(QUIET_MS) };
    const seen: Seen[] = [];
    // A warm-up comes first, because the first requests of a process meet code that is not compiled yet.
    await readBeside(read, quiet, delayPort);
    for (const long of [quiet, ...longs]) {
      bench.say(`held: ${long.name}`);
      seen.push(await readBeside(read, long, delayPort));
      await settle(measured.system.pids, SETTLE_SECONDS);
    }
    return { figures: [], checks: seen.slice(1).map(checkOf), table: tableOf(seen) };
  } finally {
    reader?.close();
    await measured.subject.stop();
  }
}

async function createLongs(bench: Bench, { client, subject }: Measured): Promise<Long[]> {
  const { many } = bench.options;
  const { workspaceId } = await fillWorkspace(client, 'Names', many, Math.ceil(many / 100));
  const table = await fillTable({ client }, createRows());
  const long = await createResource(client, { type: 'document', name: 'Long', workspace_id: workspaceId, content: '' });
  const write = (salt: number) => client.ask('PATCH', `/resources/${long}/content`, { markdown: longText(salt) });
  await write(1);
  await client.ask('GET', `/resources/${long}/content?format=json`);
  const sorted = (column: string, offset: number) =>
    client.ask(
      'GET',
      `/resources/${table}/content?${new URLSearchParams({ sort: `[{"column":"${column}"}]`, offset: String(offset), limit: '100' })}`,
    );
  await sorted('c2', 0);
  const archive = readArchive();
  return [
    {
      name: `q= over ${many.toLocaleString('en')} names`,
      run: () => client.ask('GET', `/workspaces/${workspaceId}/resources?q=${many - 7}`),
    },
    { name: 'first sort of 200,000 rows by a text', run: () => sorted('c0', 0) },
    // Deeper pages are read by cursor.
    { name: 'a page at 9,900 of 200,000 rows by a number', run: () => sorted('c1', 9_900) },
    { name: `${BLOCKS.toLocaleString('en')} blocks, all replaced`, run: () => write(2) },
    { name: 'a JSON of these blocks', run: () => client.ask('GET', `/resources/${long}/content?format=json`) },
    {
      name: 'an import of 883 pages',
      run: async () => importArchive(client, await createWorkspace(client, `Import ${subject.name}`), archive),
    },
  ];
}

function longText(salt: number): string {
  return Array.from({ length: BLOCKS }, (_, i) => `${sentence(i * 31 + salt * 1_000_003, 12)} ${salt} ${i}`).join(
    '\n\n',
  );
}

async function readBeside(read: () => unknown, { name, run }: Long, delayPort: number): Promise<Seen> {
  await takeDelay(delayPort);
  const times: number[] = [];
  let over = false;
  const reader = async () => {
    while (!over) {
      const since = performance.now();
      await read();
      times.push(performance.now() - since);
    }
  };
  const readers = Array.from({ length: READERS }, reader);
  const since = performance.now();
  let tookMs = 0;
  try {
    await run();
    tookMs = performance.now() - since;
  } finally {
    // If the long request fails, the readers have to end before their connections are closed.
    over = true;
    await Promise.all(readers);
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  return { name, tookMs, p50, p99, heldMs: (await takeDelay(delayPort)).most };
}

/** Returns the delays of the system's event loop since the last call. */
async function takeDelay(port: number): Promise<{ readonly most: number }> {
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  return (await answer.json()) as { most: number };
}

function checkOf({ name, heldMs }: Seen): Check {
  return { what: `event loop held by ${name}`, value: heldMs, unit: 'ms', right: 'at most', floor: MAX_HELD_MS };
}

function tableOf(seen: readonly Seen[]): string[] {
  const headings = ['under way', 'takes ms', 'p50 of others', 'p99 of others', 'event loop held at most ms'];
  const lines = seen.map(({ name, tookMs, p50, p99, heldMs }) => {
    return [name, tookMs.toFixed(0), p50.toFixed(1), p99.toFixed(1), heldMs.toFixed(1)];
  });
  return [headings, headings.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}
