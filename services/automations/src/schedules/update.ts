import { invalidField, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { isChanged } from '@commonplace/kit/store';
import type { Schedule } from '@commonplace/proto/automations/v1/schedule.js';
import type { UpdateScheduleRequest } from '@commonplace/proto/automations/v1/schedule_service.js';
import { isHandedOver, rightsOfCaller } from '../acts-as.js';
import { mayAdminister, type Place } from '../policy.js';
import { placeOfTarget, requireAttachments, requireDelivery, requireMayChange, seeSchedule } from './access.js';
import { ScheduleCompleted } from './errors.js';
import {
  changesActing,
  changesTarget,
  changesTiming,
  maskWithoutNulls,
  readChange,
  type Target,
  targetIn,
} from './fields.js';
import { newFire, withdrawFires } from './fires.js';
import { type Pair, type ScheduleParts, savePair, timestamp } from './parts.js';
import { lookSoon, planAnew } from './plan.js';
import { presentSchedule } from './present.js';
import type { ScheduleRecord } from './records.js';

/**
 * Changes a schedule. The same commit withdraws the fires that no longer belong to it, and nothing fires for a time
 * that has passed.
 */
export async function updateSchedule(
  parts: ScheduleParts,
  asked: UpdateScheduleRequest,
  context: CallContext,
): Promise<Schedule> {
  const { scheduleId } = asked;
  await context.inTurn(parts.schedules.spec.name, scheduleId);
  const access = await seeSchedule(parts, scheduleId, context);
  requireMayChange(access, context.caller);
  requireVersion(context, access.schedule.version, access.schedule);
  const state = await context.work.get(parts.states, scheduleId);
  if (state === undefined) throw NotFound();
  const before: Pair = { schedule: access.schedule, state };
  if (access.place.archived) throw WorkspaceArchived();
  if (before.schedule.status === 'completed') throw ScheduleCompleted();
  const mask = maskWithoutNulls(asked, before.schedule);
  const request = { ...asked, updateMask: mask };
  const changed = await changedSchedule(parts, request, before, access.place, context);
  const now = parts.now();
  const planned = await replan(parts, changed, before, mask, now, context);
  const after = changesTarget(mask) ? lookSoon(planned, now) : planned;
  if (request.triggerNow) trigger(parts, after.schedule, now, context);
  savePair(parts, context.work, before, after);
  const stored = (await context.work.get(parts.schedules, scheduleId)) ?? after.schedule;
  return presentSchedule(parts, stored, after.state);
}

async function changedSchedule(
  parts: ScheduleParts,
  request: UpdateScheduleRequest,
  { schedule: before, state: { runCount } }: Pair,
  place: Place,
  context: CallContext,
): Promise<ScheduleRecord> {
  const mask = request.updateMask ?? [];
  const target = (changesTarget(mask) ? targetIn(request) : undefined) ?? targetOf(before);
  const isResumed = request.isActive === true && before.status !== 'active';
  const isTaken = changesActing(mask) || ((isResumed || request.triggerNow) && isHandedOver(before.actsAs));
  if (isResumed && !changesActing(mask)) await requireTarget(parts, target, context);
  // Its runs may have the rights of somebody else, whose agent or automation the creator can no longer start.
  const startsAsCreator = (isResumed || request.triggerNow) && !mayAdminister(place);
  if (isTaken || startsAsCreator) await requireMayStart(parts, target, before, context);
  if (!isTaken && mask.every((path) => path === 'trigger_now')) return before;
  const now = parts.now();
  const fields = readChange(request, before, {
    ...{ targetType: target.type, runCount, now },
    inputBytes: parts.settings.automationInputBytes,
  });
  const changes = new Set(mask.map((path) => path.split('.')[0]));
  if (changes.has('deliver_to')) await requireDelivery(parts, fields.deliverTo, before, context);
  if (changes.has('input')) await requireAttachments(parts, { targetType: target.type, ...fields }, context);
  const after: ScheduleRecord = {
    ...{ ...before, ...fields, targetType: target.type, updatedAt: timestamp(now), updatedBy: context.actor },
    agentId: target.type === 'agent' ? target.id : undefined,
    automationId: target.type === 'automation' ? target.id : undefined,
    ...(isTaken && { actsAs: rightsOfCaller(context.caller) }),
    ...statusFields(before, request.isActive),
  };
  return isChanged(before, after) ? after : before;
}

function targetOf({ targetType: type, agentId, automationId }: ScheduleRecord): Target {
  return { type, id: agentId ?? automationId ?? '', param: 'target.id' };
}

/** Throws unless the caller may start the target, since the schedule will run with the caller's rights. */
async function requireMayStart(
  parts: ScheduleParts,
  target: Target,
  { workspaceId }: ScheduleRecord,
  context: CallContext,
): Promise<void> {
  const given = target.type === 'agent' ? workspaceId : undefined;
  const place = await placeOfTarget(parts, target, given, context);
  if (place.workspaceId === workspaceId) return;
  throw invalidField(target.param, 'invalid_value', `${target.param} must be in the workspace of the schedule.`);
}

/** Throws `not_found` for a deleted automation, whose schedule would pause again at the next slot. */
async function requireTarget(parts: ScheduleParts, { type, id }: Target, { work }: CallContext): Promise<void> {
  if (type !== 'automation') return;
  const automation = await work.get(parts.automations, id);
  if (automation === undefined) throw NotFound({}, { param: 'automation_id' });
  work.expect(parts.automations, automation);
}

function statusFields({ status }: ScheduleRecord, isActive: boolean | undefined): Partial<ScheduleRecord> {
  if (isActive === undefined || isActive === (status === 'active')) return {};
  if (isActive) return { status: 'active', pausedReason: undefined, error: undefined };
  return { status: 'paused', pausedReason: 'person', error: undefined };
}

/** Adapts the fires to a change of the schedule, from now on. */
async function replan(
  parts: ScheduleParts,
  schedule: ScheduleRecord,
  { schedule: before, state }: Pair,
  mask: readonly string[],
  now: number,
  { work }: CallContext,
): Promise<Pair> {
  const isStarted = schedule.status === 'active' && before.status !== 'active';
  const isStopped = schedule.status !== 'active' && before.status === 'active';
  if (schedule.status !== 'active' && !isStopped) return { schedule, state };
  if (!isStarted && !isStopped && !changesActing(mask)) return { schedule, state };
  const keepsFuture = !isStopped;
  const missed = await withdrawFires(parts, work, schedule.id, now, { reason: CHANGED, keepsFuture });
  const counted = { ...state, caughtUp: 0, missedCount: state.missedCount + missed };
  if (isStopped) return { schedule, state: { ...counted, planAt: undefined } };
  const restarted = { ...counted, ...(isStarted && { consecutiveFailures: 0 }) };
  const mustPlan = isStarted || changesTiming(mask);
  return mustPlan ? planAnew(parts, work, { schedule, state: restarted }, now) : { schedule, state: restarted };
}

const CHANGED = 'the schedule was changed';

/** Starts the target once, independently of the slots, by a fire of its own. */
function trigger(parts: ScheduleParts, schedule: ScheduleRecord, now: number, { work }: CallContext): void {
  const fire = newFire(schedule, { scheduledFor: now, startsAt: now });
  work.insert(parts.fires, { ...fire, id: derivedId(`schedule-manual:${newId()}`), isManual: true });
}
