import type { EventBus, Subscription } from '@commonplace/kit/events';
import {
  type Collection,
  findEach,
  inWork,
  removeAll,
  type StoredRecord,
  type UnitOfWork,
  type Where,
} from '@commonplace/kit/store';
import { findSuccessor, type Successor } from '@commonplace/platform/departures';
import { consume } from '@commonplace/platform/events';
import { handedOverTo } from '../acts-as.js';
import { mayStart } from './access.js';
import { unstartedFires, withdrawFires } from './fires.js';
import { bySystem, type Pair, readPair, type ScheduleParts, savePair, timestamp } from './parts.js';
import { pauseSchedule } from './pause.js';
import { planAnew } from './plan.js';
import { type PauseReason, type ScheduleRecord, UNSTARTED_STATES } from './records.js';

const CHUNK = 100;

/** Pauses the schedules of archived workspaces, and resumes them when these are unarchived. */
export function watchWorkspaces(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['tenancy.workspace.archived', 'tenancy.workspace.unarchived'] as const;
  return consume(bus, { consumer: 'automations.schedule-workspaces', events }, ({ name, subject: workspaceId }) =>
    name === 'tenancy.workspace.archived'
      ? pauseAll(parts, { workspaceId, status: 'active' }, 'workspace_archived')
      : resumeAll(parts, workspaceId),
  );
}

/** Subscribes to Orgs whose deletion was undone, and plans the slots that their schedules have missed. */
export function watchOrgs(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['tenancy.org.restored'] as const;
  return consume(bus, { consumer: 'automations.schedule-orgs', events }, ({ subject: tenant }) =>
    forEach(parts, { tenant }, async (work, before) => {
      const now = parts.now();
      await wakeFires(parts, work, before.schedule.id, now);
      if (before.schedule.status !== 'active') return;
      savePair(parts, work, before, { ...before, state: { ...before.state, planAt: timestamp(now) } });
    }),
  );
}

/** Makes the postponed fires of a schedule due now, if their time has passed. */
async function wakeFires(parts: ScheduleParts, work: UnitOfWork, scheduleId: string, now: number): Promise<void> {
  for (const { id } of await unstartedFires(parts, scheduleId)) {
    const fire = await work.get(parts.fires, id);
    if (fire === undefined || !UNSTARTED_STATES.includes(fire.state)) continue;
    const isPostponed = Date.parse(fire.startsAt) <= now && Date.parse(fire.dueAt ?? '') > now;
    if (isPostponed) work.replace(parts.fires, fire, { ...fire, dueAt: timestamp(now) });
  }
}

/**
 * Hands the schedules of people who leave an Org over to the successor who was named, in the workspaces in which that
 * person may start their targets. Without one, they end with `access_lost` at their next slot.
 */
export function watchLeavers(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['tenancy.org_member.removed'] as const;
  return consume(bus, { consumer: 'automations.schedule-leavers', events }, async ({ data }) => {
    const { orgId, userId, transferToUserId } = data;
    const successor = await findSuccessor({ ...parts, auth: parts.peers.auth }, orgId, transferToUserId);
    if (userId === '' || successor === undefined) return;
    if ((await parts.memberships.fresh(userId, parts.systemCall())).orgs.has(orgId)) return;
    await forEach(parts, { tenant: orgId }, (work, before) => handOver(parts, work, before, userId, successor));
  });
}

/**
 * Makes the successor the creator of a schedule, and the person whose rights it has. It pauses then, so that nothing
 * starts in their name that they have not looked at.
 */
async function handOver(
  parts: ScheduleParts,
  work: UnitOfWork,
  before: Pair,
  userId: string,
  successor: Successor,
): Promise<void> {
  const { schedule, state } = before;
  const [isCreator, isActor] = [schedule.createdById === userId, schedule.actsAs.userId === userId];
  const place = successor.workspaces.get(schedule.workspaceId);
  if ((!isCreator && !isActor) || place === undefined || !mayStart(schedule, place.role)) return;
  const { id, name } = successor;
  const given: ScheduleRecord = {
    ...{ ...schedule, ...bySystem(parts.now()) },
    ...(isCreator && { createdBy: { type: 'user', id, name } as const, createdById: id }),
    ...(isActor && { actsAs: handedOverTo(schedule.actsAs, successor) }),
  };
  // A slot may have found the person gone before this event arrived.
  const hasFailed = given.status === 'error' && given.error === 'access_lost';
  const after: ScheduleRecord =
    isActor && hasFailed ? { ...given, status: 'paused', pausedReason: 'person_left', error: undefined } : given;
  const pair = { schedule: after, state };
  const paused = isActor ? await pauseSchedule(parts, work, pair, 'person_left', parts.now()) : pair;
  savePair(parts, work, before, paused);
}

/** Pauses the schedules of deleted automations. */
export function watchAutomations(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['automations.automation.deleted'] as const;
  return consume(bus, { consumer: 'automations.schedule-targets', events }, ({ subject: automationId }) =>
    pauseAll(parts, { automationId, status: 'active' }, 'automation_deleted'),
  );
}

/**
 * Deletes the schedules of deleted agents. One that commits after they were looked up is deleted by the queue, which looks
 * at each schedule that gets an agent.
 */
export function watchAgents(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['agents.agent.deleted'] as const;
  return consume(bus, { consumer: 'automations.schedule-agents', events }, async ({ subject: agentId, tenant }) => {
    await parts.departures.storeDeleted(agentId, tenant ?? '');
    await forEach(parts, { agentId }, async (work, before) => removeSchedule(parts, work, before));
  });
}

/** Deletes the records of purged Orgs and workspaces. */
export function watchPurges(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  const events = ['tenancy.org.purged', 'tenancy.workspace.purged'] as const;
  return consume(bus, { consumer: 'automations.schedule-purges', events }, async ({ name, subject }) => {
    const where = name === 'tenancy.org.purged' ? { tenant: subject } : { workspaceId: subject };
    // Schedules are deleted first, so that no further fire is written.
    for (const records of [parts.schedules, parts.states, parts.fires]) {
      await removeAll(parts.store, records as unknown as Collection<StoredRecord>, where as Where<StoredRecord>);
    }
  });
}

async function pauseAll(parts: ScheduleParts, where: Where<ScheduleRecord>, reason: PauseReason): Promise<void> {
  await forEach(parts, where, async (work, before) => {
    if (before.schedule.status !== 'active') return;
    savePair(parts, work, before, await pauseSchedule(parts, work, before, reason, parts.now()));
  });
}

async function resumeAll(parts: ScheduleParts, workspaceId: string): Promise<void> {
  await forEach(parts, { workspaceId, status: 'paused' }, async (work, before) => {
    const now = parts.now();
    if (before.schedule.status !== 'paused' || before.schedule.pausedReason !== 'workspace_archived') return;
    const schedule = { ...before.schedule, status: 'active' as const, pausedReason: undefined, ...bySystem(now) };
    savePair(parts, work, before, await planAnew(parts, work, { schedule, state: before.state }, now));
  });
}

/**
 * Deletes a schedule in a unit of work, with its fires that have not started. Other fires stay on record until they
 * expire.
 */
export async function removeSchedule(
  parts: Pick<ScheduleParts, 'schedules' | 'states' | 'fires' | 'keepMs' | 'now'>,
  work: UnitOfWork,
  { schedule, state }: Pair,
): Promise<void> {
  await withdrawFires(parts, work, schedule.id, parts.now(), { reason: 'the schedule was deleted' });
  work.remove(parts.schedules, schedule);
  work.remove(parts.states, state);
}

/** Changes each matching schedule in a unit of work of its own. */
async function forEach(
  parts: ScheduleParts,
  where: Where<ScheduleRecord>,
  change: (work: UnitOfWork, before: Pair) => Promise<void>,
): Promise<void> {
  for await (const { id } of findEach(parts.schedules, { where }, CHUNK)) {
    await inWork(parts.store, async (work) => {
      const before = await readPair(parts, work, id);
      if (before !== undefined) await change(work, before);
    });
  }
}
