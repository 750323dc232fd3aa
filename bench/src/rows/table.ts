import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace } from '../fill.js';
import type { Figures } from '../measure.js';
import { cpuSeconds, residentMiB } from '../processes.js';
import type { Row } from '../row.js';
import { settle } from '../system.js';

const ROWS = 200_000;
const COLUMNS = 20;
const PER_WRITE = 10_000;
const PAGE = 100;
const REQUESTS = 100;
const TYPES = ['text', 'number', 'select', 'date', 'checkbox'] as const;
const CHOICES = ['new', 'open', 'won', 'lost', 'held'];
const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu 数据 报告 客户 北京 上海'.split(' ');

type Cell = string | number | boolean;
type Cells = Record<string, Cell>;

/** A query for rows with a number above a threshold that contain a word, ordered by one of several columns. */
interface Question {
  readonly above: number;
  readonly word: string;
  readonly by: string;
  readonly descending: boolean;
}

/**
 * Measures a page of 100 rows from a table with 200,000 rows and 20 columns with a filter and a sort, compared with an
 * array's own filter and sort.
 */
export async function measureTablePage(bench: Bench): Promise<Row> {
  const measured = await bench.start('table');
  try {
    const table = createRows();
    const started = performance.now();
    const id = await fillTable(measured, table);
    const filled = (performance.now() - started) / 1000;
    await settle(measured.system.pids);
    const questions = Array.from({ length: REQUESTS }, (_, i) => question(i));
    const ask = (asked: Question) => measured.client.ask('GET', pathOf(id, asked));
    const first = await firstSorts((sort) => measured.client.ask('GET', `/resources/${id}/content?${sort}`));
    const page = await timed('embedded', questions, ask, () => cpuSeconds(measured.system.pids()));
    const bare = await timed('bare array', questions, async (asked) => barePage(table, asked), ownSeconds);
    const memory = residentMiB(measured.system.pid);
    return {
      figures: [page, bare],
      checks: [
        {
          what: 'slowest first sort by a column',
          value: Math.max(...first) / 1000,
          unit: 's',
          right: 'at most',
          floor: 0.8,
        },
        { what: 'p95 of a page', value: page.p95 / 1000, unit: 's', right: 'at most', floor: 0.1 },
        { what: 'p95 beside a bare array', value: page.p95 / bare.p95, unit: '×', right: 'at most', floor: 1 },
        { what: 'memory with the table open', value: memory, unit: 'MB', right: 'at most', floor: 400 },
      ],
      notes: [
        `${ROWS.toLocaleString('en')} rows × ${COLUMNS} columns, written in ${filled.toFixed(1)} s; one request at a time`,
      ],
    };
  } finally {
    await measured.subject.stop();
  }
}

/** Returns the milliseconds for the first page of all rows in each order. */
async function firstSorts(ask: (query: string) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  // The first request reads the table, so it is not timed.
  await ask(`limit=${PAGE}`);
  for (const column of ORDERS) {
    const started = performance.now();
    const sort = JSON.stringify([{ column, direction: 'asc' }]);
    await ask(new URLSearchParams({ sort, limit: String(PAGE) }).toString());
    times.push(performance.now() - started);
  }
  return times;
}

/** Columns by which pages are ordered: a text, a number, a choice and a day. */
const ORDERS = ['c0', 'c6', 'c7', 'c8'];

function question(i: number): Question {
  return {
    above: (i * 97) % 9000,
    word: WORDS[i % WORDS.length] as string,
    by: ORDERS[i % ORDERS.length] as string,
    descending: i % 3 === 0,
  };
}

function pathOf(id: string, { above, word, by, descending }: Question): string {
  const filter = {
    and: [
      { column: 'c1', op: 'gt', value: above },
      { column: 'c0', op: 'contains', value: word },
    ],
  };
  const sort = [{ column: by, direction: descending ? 'desc' : 'asc' }];
  const query = new URLSearchParams({
    filter: JSON.stringify(filter),
    sort: JSON.stringify(sort),
    limit: String(PAGE),
  });
  return `/resources/${id}/content?${query.toString()}`;
}

const collator = new Intl.Collator(['en', 'zh'], { numeric: true });

/** Answers the same query with the methods of an array. */
function barePage(table: readonly Cells[], { above, word, by, descending }: Question): Cells[] {
  const sign = descending ? -1 : 1;
  const compare = (a: Cells, b: Cells): number => {
    const [x, y] = [a[by], b[by]];
    return sign * (typeof x === 'number' ? x - Number(y) : collator.compare(String(x), String(y)));
  };
  return table
    .filter(({ c0, c1 }) => Number(c1) > above && String(c0).includes(word))
    .sort(compare)
    .slice(0, PAGE);
}

async function timed(
  name: string,
  questions: readonly Question[],
  ask: (asked: Question) => Promise<unknown>,
  cpu: () => number,
): Promise<Figures> {
  const times: number[] = [];
  const before = cpu();
  for (const asked of questions) {
    const started = performance.now();
    await ask(asked);
    times.push(performance.now() - started);
  }
  const cpuPer1000 = ((cpu() - before) * 1e6) / times.length;
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] as number;
  const requestsPerSecond = (1000 * times.length) / times.reduce((sum, time) => sum + time, 0);
  const round = { requestsPerSecond, cpuPer1000 };
  return { name, ...round, p50: at(0.5), p95: at(0.95), p99: at(0.99), generatorBusy: 0, rounds: [round] };
}

function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Creates a table with these rows in its own workspace. Returns its id. */
export async function fillTable({ client }: Pick<Measured, 'client'>, table: readonly Cells[]): Promise<string> {
  const workspaceId = await createWorkspace(client, 'Tables');
  const columns = Array.from({ length: COLUMNS }, (_, i) => {
    const type = TYPES[i % TYPES.length];
    const options = type === 'select' ? { choices: CHOICES.map((id) => ({ id, name: id })) } : {};
    return { id: `c${i}`, name: `Column ${i}`, type, options };
  });
  const id = await createResource(client, { type: 'table', name: 'Large', workspace_id: workspaceId, columns });
  for (let at = 0; at < table.length; at += PER_WRITE) {
    const rows = table.slice(at, at + PER_WRITE);
    await client.ask('PATCH', `/resources/${id}/content`, { mode: 'append', rows });
  }
  return id;
}

export function createRows(count = ROWS): Cells[] {
  const next = createNumbers();
  const word = (): string => WORDS[next(WORDS.length)] as string;
  const two = (most: number): string => String(1 + next(most)).padStart(2, '0');
  const makes: readonly (() => Cell)[] = [
    () => `${word()} ${word()} ${next(100_000)}`,
    () => next(1_000_000) / 100,
    () => CHOICES[next(CHOICES.length)] as string,
    () => `20${two(30)}-${two(12)}-${two(28)}`,
    () => next(2) === 1,
  ];
  return Array.from({ length: count }, () =>
    Object.fromEntries(Array.from({ length: COLUMNS }, (_, i) => [`c${i}`, (makes[i % makes.length] as () => Cell)()])),
  );
}

/** Creates a pseudo-random generator that yields the same numbers in every run. */
function createNumbers(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
