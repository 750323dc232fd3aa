import { AppError } from '@commonplace/kit/errors';
import { openQueue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts, RunQueue } from '../../parts.js';
import { endRun } from '../../runs/end.js';
import { type RunRecord, runQueue } from '../../stores/runs.js';
import { failureOf } from '../failure.js';
import { latestEndOf } from './asking.js';
import { RunExecution } from './execution.js';

const LEASE_MS = 15_000;
const BACKOFF = { firstMs: 500, maxMs: 10_000 };

/** Opens the queue that executes runs, taking turns between agents and people, within the limits of their tenants. */
export function openRunQueue(parts: Parts): Promise<RunQueue> {
  return openQueue<RunRecord>({
    store: parts.store,
    log: parts.log,
    spec: runQueue,
    concurrency: parts.settings.runWorkers,
    leaseMs: LEASE_MS,
    // Only what passes is retried, until the time limit of the run.
    maxFailures: 1,
    backoff: BACKOFF,
    pick: (room, running) => pickRuns(parts, room, running),
    onClaim: (work, record) => claimRun(parts, work, record),
    run: (job) => new RunExecution(parts, job).run(),
    onGivenUp: (job, error) =>
      endRun(parts, job, { status: 'failed', error: failureOf(error).failure, output: undefined, message: {} }),
  });
}

/**
 * Counts a waiting run as running, within the limits of tenant and lane. Returns undefined if one of them is reached.
 */
async function claimRun(parts: Parts, work: UnitOfWork, record: RunRecord): Promise<Partial<RunRecord> | undefined> {
  const { status, tenant, lane, attempt } = record;
  const isResumed = status === 'awaiting_approval';
  if (status !== 'queued' && !isResumed) return { attempt: attempt + 1, isResumed: false };
  try {
    await parts.quotas.perLane.reserve(work, lane);
    await parts.quotas.running.reserve(work, tenant);
  } catch (error) {
    if (error instanceof AppError && error.reason === 'limit_reached') return undefined;
    throw error;
  }
  const now = Date.now();
  const limitMs = Math.min(record.maxMinutes ?? Number.POSITIVE_INFINITY, parts.settings.runMinutes) * 60_000;
  const leftMs = isResumed ? (record.remainingMs ?? 0) : limitMs;
  return {
    ...{ status: 'running', isResumed, remainingMs: undefined },
    attempt: isResumed ? attempt : attempt + 1,
    startedAt: record.startedAt ?? new Date(now).toISOString(),
    endsBy: new Date(Math.min(now + leftMs, latestEndOf(record))).toISOString(),
  };
}

/** Number of waiting runs of one tenant that one query reads. */
const LOOKED_AT = 100;

/**
 * Returns interrupted runs if there are any. Otherwise it takes tenants in ascending order of running runs, and within
 * a tenant prefers lanes with the fewest running runs.
 */
async function pickRuns(parts: Parts, room: number, running: ReadonlySet<string>): Promise<readonly RunRecord[]> {
  const { runs, settings, store } = parts;
  const now = new Date(store.now()).toISOString();
  const where = { status: { in: ['running', 'canceling'] }, dueAt: { lte: now } };
  const due = await runs.find({ where, sort: ['dueAt'], limit: room + running.size });
  const interrupted = due.filter(({ id }) => !running.has(id)).slice(0, room);
  if (interrupted.length > 0) return interrupted;
  const waiting = await tenantsWaiting(parts, now);
  if (waiting.size === 0) return [];
  const busy = await runs.countBy('tenant', { status: { in: ['running', 'canceling'] } });
  const tenants = [...waiting].sort((a, b) => (busy.get(a) ?? 0) - (busy.get(b) ?? 0));
  const picked: RunRecord[] = [];
  for (const tenant of tenants) {
    const free = Math.min(room - picked.length, settings.runsRunning - (busy.get(tenant) ?? 0));
    if (free > 0) picked.push(...(await nextOf(parts, tenant, free, running)));
    if (picked.length >= room) break;
  }
  return picked;
}

/** Returns the tenants with queued runs, or with runs whose approvals are decided. */
async function tenantsWaiting({ runs }: Parts, now: string): Promise<ReadonlySet<string>> {
  const queued = await runs.countBy('tenant', { status: 'queued' });
  const decided = await runs.countBy('tenant', { status: 'awaiting_approval', dueAt: { lte: now } });
  return new Set([...queued.keys(), ...decided.keys()]);
}

/**
 * Returns waiting runs of a tenant, taking turns between lanes that are below their limit; runs whose approvals are
 * decided come before queued ones. The query excludes lanes at their limit, so that other lanes are found behind any
 * number of their runs.
 */
async function nextOf(
  { runs, settings, store }: Parts,
  tenant: string,
  room: number,
  running: ReadonlySet<string>,
): Promise<RunRecord[]> {
  const limit = settings.runsPerAgent;
  const load = new Map(await runs.countBy('lane', { tenant, status: { in: ['running', 'canceling'] } }));
  const picked: RunRecord[] = [];
  while (picked.length < room) {
    const atLimit = [...load].filter(([, count]) => count >= limit);
    const where = {
      ...{ tenant, dueAt: { lte: new Date(store.now()).toISOString() } },
      and: atLimit.map(([lane]) => ({ lane: { not: lane } })),
    };
    const lists = await Promise.all(
      (['awaiting_approval', 'queued'] as const).map((status) =>
        runs.find({ where: { ...where, status }, sort: ['createdAt'], limit: LOOKED_AT }),
      ),
    );
    const waiting = lists.flat().filter((run) => !running.has(run.id) && !picked.some(({ id }) => id === run.id));
    const chosen = takeTurns(waiting, load, limit, room - picked.length);
    picked.push(...chosen);
    if (chosen.length === 0 || lists.every((list) => list.length < LOOKED_AT)) break;
  }
  return picked;
}

/** Chooses up to `room` runs, each time one of the lane with the fewest, and counts them in `load`. */
function takeTurns(waiting: RunRecord[], load: Map<string, number>, limit: number, room: number): RunRecord[] {
  const chosen: RunRecord[] = [];
  const loadOf = ({ lane }: RunRecord) => load.get(lane) ?? 0;
  while (chosen.length < room) {
    const open = waiting.filter((run) => loadOf(run) < limit);
    const next = open.reduce<RunRecord | undefined>(
      (best, run) => (best === undefined || loadOf(run) < loadOf(best) ? run : best),
      undefined,
    );
    if (next === undefined) break;
    waiting.splice(waiting.indexOf(next), 1);
    load.set(next.lane, loadOf(next) + 1);
    chosen.push(next);
  }
  return chosen;
}
