import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorkspace, type Made } from '../../fill.js';
import type { Tally } from '../tally.js';
import { type Asked, begin, notCompleted, type StoredRun, type Subject, untilEnded } from './subject.js';

/**
 * Number of clients that start runs concurrently. Below, number of runs that each starts around each kill, one after
 * another.
 */
const WRITERS = 5;
const RUNS = 8;
/** Range in milliseconds of the random pause between two requests of a client. */
const PAUSE_MS = [10, 120] as const;

/**
 * Kills processes while several clients start runs of an automation whose runs wait for each other. Checks that the
 * runs execute one at a time, in the order in which their triggers were committed.
 */
export async function soakOrder(subject: Subject, rounds: number, tally: Tally): Promise<void> {
  const { automationId, tableId } = await createScene(subject);
  const all: Asked[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let i = 0; i < RUNS; i++) {
          await sleep(randomInt(...PAUSE_MS));
          const asked: Asked = { name: `run-${round}-${writer}-${i}` };
          all.push(asked);
          await begin(subject, automationId, asked);
        }
      }),
    );
    started.catch(() => {});
    await sleep(randomInt(100, 800));
    await subject.crash(async () => {});
    await started;
  }
  const runs = (await untilEnded(subject, automationId)).sort((a, b) => a.seq - b.seq);
  const names = new Map(all.map(({ id = '', name }) => [id, name]));
  const committed = runs.map(({ id }) => names.get(id) ?? id);
  const carriedOut = await rowsOf(subject, tableId);
  tally.check(`${subject.name}: every queued run completes`, notCompleted(runs));
  tally.check(`${subject.name}: every queued run runs once`, notOnce(all, carriedOut));
  tally.check(`${subject.name}: runs in the order of the commits`, outOfOrder(committed, carriedOut));
  tally.check(`${subject.name}: an answered trigger comes before a later one`, overtaken(all, runs));
  tally.check(`${subject.name}: one queued run at a time`, overlapping(runs));
  console.log(
    `${subject.name}: ${rounds} kills while ${WRITERS} clients start ${all.length} runs that wait for each other`,
  );
}

async function createScene(subject: Subject): Promise<{ automationId: string; tableId: string }> {
  const client = subject.client();
  const workspace_id = await createWorkspace(client, 'Order');
  const table = { type: 'table', name: 'Order', workspace_id, columns: [{ name: 'Name', type: 'text' }] };
  const { id: tableId } = await client.ask<Made>('POST', '/resources', table);
  const config = { table_id: tableId, rows: [{ Name: '{{trigger.input.name}}' }] };
  const automation = {
    ...{ name: 'Order', workspace_id, trigger: { type: 'manual' }, concurrency: 'queue' },
    actions: [{ type: 'append_rows', config }],
  };
  return { tableId, automationId: (await client.ask<Made>('POST', '/automations', automation)).id };
}

interface Content {
  readonly rows: readonly { readonly cells: Readonly<Record<string, string>> }[];
}

/** Returns the texts that the runs have written, in the order of the rows, which is the order of the writes. */
async function rowsOf(subject: Subject, tableId: string): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const path = `/resources/${tableId}/content?limit=1000&offset=${names.length}`;
    const { rows } = await subject.client().ask<Content>('GET', path);
    names.push(...rows.map(({ cells }) => String(Object.values(cells)[0])));
    if (rows.length < 1000) return names;
  }
}

function notOnce(asked: readonly Asked[], rows: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
  const wrong = asked.filter(({ name }) => counts.get(name) !== 1);
  return wrong.map(({ name }) => `${name} has run ${counts.get(name) ?? 0} times`);
}

function outOfOrder(committed: readonly string[], carriedOut: readonly string[]): string[] {
  const at = committed.findIndex((name, i) => carriedOut[i] !== name);
  return at < 0 ? [] : [`at ${at}: ${committed[at]} was committed, ${carriedOut[at]} has run`];
}

/**
 * Returns a fault for each run whose number contradicts what clients know: a request that was answered before another
 * was sent must have the lower number.
 */
function overtaken(asked: readonly Asked[], runs: readonly StoredRun[]): string[] {
  const byId = new Map(asked.map((one) => [one.id, one]));
  const faults: string[] = [];
  let earliest: Asked | undefined;
  for (const { id } of [...runs].reverse()) {
    const one = byId.get(id);
    if (one === undefined) continue;
    const { sentAt = 0, answeredAt = 0 } = one;
    if (earliest !== undefined && (earliest.answeredAt ?? 0) < sentAt) {
      faults.push(`${one.name} is before ${earliest.name}, which was answered before it was sent`);
    }
    if (earliest === undefined || answeredAt < (earliest.answeredAt ?? 0)) earliest = one;
  }
  return faults;
}

const overlapping = (runs: readonly StoredRun[]): string[] =>
  runs.flatMap(({ id, startedAt = '' }, i) => {
    const before = runs[i - 1];
    return before !== undefined && startedAt < (before.finishedAt ?? '')
      ? [`${id} began before ${before.id} ended`]
      : [];
  });
