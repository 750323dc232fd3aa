import { join } from 'node:path';
import Database from 'libsql';
import type { Client } from '../../http.js';
import type { Run } from './outcomes.js';
import type { Asked } from './scene.js';

const PAGE = 200;

interface Entry {
  readonly kind: string;
  readonly amount: string;
  readonly balance_after: string | null;
  readonly source: { readonly type: string; readonly id: string | null };
}

export interface Credits {
  readonly available: string | null;
  readonly granted: string;
  readonly used: string;
  readonly reserved: string;
  readonly overage_used: string;
}

interface Usage {
  readonly totals: { readonly credits: string; readonly input_tokens: number; readonly output_tokens: number };
}

/** Converts an amount of credits to millionths. */
export function micros(credits: string): number {
  const sign = credits.startsWith('-') ? -1 : 1;
  const [whole = '0', decimals = ''] = credits.replace('-', '').split('.');
  return sign * (Number(whole) * 1_000_000 + Number(decimals.padEnd(6, '0')));
}

export async function readLedger(client: Client): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const path = `/credits?view=ledger&limit=${PAGE}&offset=${offset}`;
    const { items } = await client.ask<{ items: Entry[] }>('GET', path);
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

export const sumOf = (amounts: Iterable<number>): number => [...amounts].reduce((sum, one) => sum + one, 0);

/** Returns the contradictions between ledger, usage and runs. All credits must come from these runs. */
export async function ledgerFaults(
  client: Client,
  asked: readonly Asked[],
  runs: ReadonlyMap<string, Run>,
): Promise<string[]> {
  const entries = await readLedger(client);
  const consumed = entries.filter(({ kind }) => kind === 'consume');
  const spent = -sumOf(consumed.map(({ amount }) => micros(amount)));
  const { totals } = await client.ask<Usage>('GET', '/usage');
  const credits = await client.ask<Credits>('GET', '/credits');
  const faults: string[] = [];
  const differs = (what: string, one: number, other: number) => {
    if (one !== other) faults.push(`${what}: ${one} and ${other} millionths`);
  };
  differs('ledger and usage', spent, micros(totals.credits));
  differs('ledger and credits.used', spent, micros(credits.used) + micros(credits.overage_used));
  const last = entries[0]?.balance_after;
  if (last != null)
    differs('sum of the ledger and balance', sumOf(entries.map(({ amount }) => micros(amount))), micros(last));
  const all = asked.flatMap(({ runId = '' }) => runs.get(runId) ?? []);
  for (const field of ['input_tokens', 'output_tokens'] as const) {
    const usedByRuns = sumOf(all.map(({ usage }) => usage[field]));
    if (usedByRuns !== totals[field]) faults.push(`${field} of usage ${totals[field]}, of runs ${usedByRuns}`);
  }
  for (const { id, usage } of all) {
    const charged = -sumOf(consumed.filter(({ source }) => source.id === id).map(({ amount }) => micros(amount)));
    differs(`ledger and usage of run ${id}`, charged, micros(usage.credits));
  }
  return faults;
}

interface Reservation {
  readonly sourceId: string;
  readonly step: string;
  readonly attempt: number;
  readonly state: string;
}

/**
 * Returns reservations of ended runs that were neither charged nor released, and steps with more charges than attempts.
 */
export function reservationFaults(home: string, runs: ReadonlyMap<string, Run>): string[] {
  const all = readDocuments<Reservation>(home, 'tenancy__credit_reservations').filter(({ sourceId }) =>
    runs.has(sourceId),
  );
  const stepOf = (id: string, seq: string) => runs.get(id)?.steps?.find((step) => String(step.seq) === seq);
  // The reservation for an attempt that did not start before its run ended expires.
  const faults = all.flatMap(({ sourceId, step, attempt, state }) =>
    state === 'open' && (stepOf(sourceId, step)?.attempt ?? 0) >= attempt
      ? [`run ${sourceId}: attempt ${attempt} of step ${step} is neither charged nor released`]
      : [],
  );
  for (const { id, steps = [] } of runs.values()) {
    for (const { seq, type, attempt } of steps) {
      const charged = all.filter((one) => one.sourceId === id && one.step === String(seq) && one.state === 'settled');
      const most = type === 'message' ? attempt : 0;
      if (charged.length > most)
        faults.push(`run ${id}: step ${seq} has ${charged.length} charges and ${most} attempts`);
    }
  }
  return faults;
}

/** Milliseconds that a reader waits for the process that writes the data. */
const BUSY_MS = 10_000;

/** Reads the documents of a collection from a data folder. A process may be using the folder. */
export function readDocuments<T>(home: string, table: string): T[] {
  const database = new Database(join(home, 'data/commonplace.db'), { readonly: true, timeout: BUSY_MS });
  try {
    const rows = database.prepare(`SELECT doc FROM ${table}`).raw(true).all() as [string][];
    return rows.map(([doc]) => JSON.parse(doc) as T);
  } finally {
    database.close();
  }
}
