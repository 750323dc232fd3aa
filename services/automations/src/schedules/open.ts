import { AppError, isPassing as isUnavailable, LimitReached } from '@commonplace/kit/errors';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import {
  type Collection,
  findEach,
  findPages,
  inWork,
  LostRace,
  openCollections,
  type UnitOfWork,
  type Where,
} from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { openDepartures } from '@commonplace/platform/departures';
import { implement, type StartedModule } from '@commonplace/platform/runtime';
import type { Shared } from '../parts.js';
import { cancelAgentRun, giveUpFire, startAgentRun } from './agent-run.js';
import {
  removeSchedule,
  watchAgents,
  watchAutomations,
  watchLeavers,
  watchOrgs,
  watchPurges,
  watchWorkspaces,
} from './followers.js';
import { createScheduleHandlers } from './handlers.js';
import { HIDDEN_RECHECK_MS, readPair, SCHEDULE_RECORDS, type ScheduleParts, savePair, timestamp } from './parts.js';
import { advance, planAnew } from './plan.js';
import {
  type FireRecord,
  fireQueue,
  planQueue,
  type ScheduleStateRecord,
  type TzRecord,
  tzCollection,
  WAITING_STATES,
} from './records.js';
import { watchRunEnds } from './run-ended.js';
import { actorAccessOf, decideFire } from './start.js';

const DAY_MS = 86_400_000;

async function openScheduleParts(shared: Shared): Promise<ScheduleParts> {
  const { store, log, bus, memberships, peers, systemCall, now, settings } = shared;
  const records = await openCollections(store, SCHEDULE_RECORDS);
  return {
    ...{ store, log, bus, memberships, peers, systemCall, now, settings, ...records },
    quota: createQuota(await store.collection(quotaCollection), {
      name: 'schedules',
      limit: settings.schedules,
      count: (workspaceId) => records.schedules.count({ workspaceId }),
      refuse: (limit) => LimitReached({ limit, what: 'schedules in a workspace' }),
    }),
    departures: await openDepartures(store, now),
    keepMs: settings.scheduleFireDays * DAY_MS,
    tzVersion: process.versions.tz ?? '',
  };
}

export async function openSchedules(shared: Shared): Promise<StartedModule> {
  const parts = await openScheduleParts(shared);
  const { bus } = shared;
  const zones = await shared.store.collection(tzCollection);
  return {
    implementations: [implement(contracts.schedules, createScheduleHandlers(parts))],
    runs: [
      {
        async begin() {
          await replanForNewZones(parts, zones);
          await planSchedulesThatAreOver(parts, zones);
        },
      },
      await openPlanQueue(parts),
      await openFireQueue(parts),
    ],
    consume: () => [
      watchRunEnds(parts, bus),
      watchWorkspaces(parts, bus),
      watchOrgs(parts, bus),
      watchLeavers(parts, bus),
      watchAgents(parts, bus),
      watchAutomations(parts, bus),
      watchPurges(parts, bus),
    ],
  };
}

/**
 * Retries without limit as long as a service or store is unavailable; slots missed in the meantime are handled
 * afterwards. Any other persistent error ends the job.
 */
const PERSISTENT = { maxWaits: Number.POSITIVE_INFINITY, backoff: { firstMs: 250, maxMs: 30_000 }, isPassing } as const;

function isPassing(error: unknown): boolean {
  if (error instanceof LostRace || isUnavailable(error)) return true;
  return error instanceof AppError && error.code === 'RESOURCE_EXHAUSTED';
}

/** Interval in which a planning job that became a dead letter is retried without an operator. */
const RETRY_DEAD_MS = 3_600_000;

/** Opens the queue that writes fires ahead. */
function openPlanQueue(parts: ScheduleParts): Promise<Queue<ScheduleStateRecord>> {
  const { store, log, now } = parts;
  return openQueue<ScheduleStateRecord>({
    ...{ store, log, now, spec: planQueue, concurrency: 4, leaseMs: 10_000, ...PERSISTENT },
    retryDeadAfterMs: RETRY_DEAD_MS,
    async run(job) {
      const schedule = await parts.schedules.get(job.record.id);
      if (schedule?.agentId !== undefined && (await parts.departures.isDeleted(schedule.agentId))) {
        return job.endIn((work, state) => removeSchedule(parts, work, { schedule, state }));
      }
      // The slots of an Org whose deletion is scheduled are decided once it is restored.
      if (schedule !== undefined && (await actorAccessOf(parts, schedule)) === 'hidden') {
        return job.retryIn(HIDDEN_RECHECK_MS);
      }
      await job.endIn(async (work, state) => {
        const before = await readPair(parts, work, state.id);
        if (before?.schedule.status !== 'active') {
          work.replace(parts.states, state, { ...state, planAt: undefined });
          return;
        }
        const hasNewZones = state.tzVersion !== parts.tzVersion;
        const current = { schedule: before.schedule, state };
        const make = hasNewZones && isPlanned(state, parts.now()) ? planAnew : advance;
        savePair(parts, work, current, await make(parts, work, current, parts.now()));
      });
    },
  });
}

/** Returns whether all slots up to now are decided, so that the fires written ahead can be computed again. */
const isPlanned = ({ plannedUntil }: ScheduleStateRecord, now: number): boolean => Date.parse(plannedUntil) >= now;

/** Lease of a fire: how long it waits for another worker after its worker has died. */
const LEASE_MS = 3_000;

/** Opens the queue that starts due fires. */
function openFireQueue(parts: ScheduleParts): Promise<Queue<FireRecord>> {
  const { store, log, now } = parts;
  return openQueue<FireRecord>({
    ...{ store, log, now, spec: fireQueue, concurrency: 32, leaseMs: LEASE_MS, ...PERSISTENT },
    // Starts of one automation write the same record, and decisions for one schedule depend on each other.
    group: { of: ({ lane }) => lane, concurrency: 1 },
    pick: (room, running) => pickDue(parts, room, running),
    onGivenUp: (job) => job.endIn((work, fire) => giveUpFire(parts, work, fire)),
    async run(job) {
      if (job.record.state === 'starting') await startAgentRun(parts, job);
      else if (job.record.state === 'canceling') await cancelAgentRun(parts, job);
      else await decideFire(parts, job);
    },
  });
}

/** Number of fires that one query reads. */
const PAGE = 200;

/**
 * Returns due fires of lanes that this process is not working on, those due for the longest time first. It reads
 * further pages until there is a lane for each free worker, since fires of other lanes may come after many fires of one
 * lane. If there are more than free workers, it starts at a random one, so that processes sharing the store pick
 * different fires.
 */
async function pickDue(
  { fires, store, now }: ScheduleParts,
  room: number,
  running: ReadonlySet<string>,
): Promise<FireRecord[]> {
  const where = { state: { in: WAITING_STATES }, dueAt: { lte: timestamp(now()) } };
  const busy = new Set((await fires.getMany([...running])).map(({ lane }) => lane));
  const found: FireRecord[] = [];
  const lanes = new Set<string>();
  for await (const page of findPages(fires, { where, sort: ['dueAt'] }, PAGE)) {
    for (const fire of page) if (!busy.has(fire.lane)) found.push(fire);
    for (const { lane } of found) lanes.add(lane);
    if (lanes.size >= room) break;
  }
  if (store.isExclusive || found.length <= room) return found;
  const from = Math.floor(Math.random() * found.length);
  return [...found.slice(from), ...found.slice(0, from)];
}

type RepairParts = Pick<ScheduleParts, 'store' | 'schedules' | 'states' | 'tzVersion' | 'now'>;

/** Makes all active schedules compute their fires again if the time zone database has changed. */
async function replanForNewZones(parts: ScheduleParts, zones: Collection<TzRecord>): Promise<void> {
  const { tzVersion, log } = parts;
  const from = (await zones.get('tz'))?.tzVersion;
  if (from === tzVersion) return;
  const isPlannedBefore = ({ planAt, tzVersion: version }: ScheduleStateRecord) =>
    planAt !== undefined && version !== tzVersion;
  const count = await planSoon(parts, { planAt: { exists: true } }, async (_, state) => isPlannedBefore(state));
  await mark(parts, zones, 'tz');
  if (from !== undefined) log.info('schedules.zones_changed', { from, to: tzVersion, schedules: count });
}

/**
 * Completes active schedules whose last slot was missed. Earlier versions have left them without a time at which they would
 * be planned again; it is done once.
 */
export async function planSchedulesThatAreOver(parts: RepairParts, zones: Collection<TzRecord>): Promise<void> {
  if ((await zones.get('over')) !== undefined) return;
  await planSoon(parts, { planAt: { exists: false } }, async (work, { id, planAt }) => {
    return planAt === undefined && (await work.get(parts.schedules, id))?.status === 'active';
  });
  await mark(parts, zones, 'over');
}

/** Makes the queue plan schedules now. Returns their number. */
async function planSoon(
  { store, states, now }: RepairParts,
  where: Where<ScheduleStateRecord>,
  isWanted: (work: UnitOfWork, state: ScheduleStateRecord) => Promise<boolean>,
): Promise<number> {
  let count = 0;
  for await (const { id } of findEach(states, { where }, PAGE)) {
    const isChanged = await inWork(store, async (work) => {
      const state = await work.get(states, id);
      if (state === undefined || !(await isWanted(work, state))) return false;
      work.replace(states, state, { ...state, planAt: timestamp(now()) });
      return true;
    });
    if (isChanged) count++;
  }
  return count;
}

/** Records with which version of the time zone database something was done. */
function mark({ store, tzVersion }: RepairParts, zones: Collection<TzRecord>, id: string): Promise<void> {
  return inWork(store, async (work) => {
    const known = await work.get(zones, id);
    if (known === undefined) work.insert(zones, { id, tzVersion });
    else work.replace(zones, known, { ...known, tzVersion });
  });
}
