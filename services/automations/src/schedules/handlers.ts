import { NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';

import { findBoundedPage, namedSort, timesWithin, type Where } from '@commonplace/kit/store';

import { foldName } from '@commonplace/kit/words';
import { ScheduleStatus } from '@commonplace/proto/automations/v1/schedule.js';
import {
  type CreateScheduleRequest,
  type ListSchedulesRequest,
  ScheduleInclude,
  type ScheduleService,
} from '@commonplace/proto/automations/v1/schedule_service.js';

import { rightsOfCaller } from '../acts-as.js';
import type { Place } from '../policy.js';
import {
  placeOfTarget,
  requireAttachments,
  requireDelivery,
  requireMayChange,
  seeSchedule,
  visibleSchedules,
} from './access.js';
import { MissingTarget } from './errors.js';
import { readNewSchedule, type Target, targetIn } from './fields.js';
import { removeSchedule } from './followers.js';
import { type Pair, type ScheduleParts, timestamp } from './parts.js';
import { lookSoon, planAhead } from './plan.js';
import { presentSchedule, presentSchedules } from './present.js';
import type { ScheduleRecord, ScheduleStateRecord } from './records.js';
import { updateSchedule } from './update.js';

export function createScheduleHandlers(parts: ScheduleParts): Handlers<ScheduleService> {
  return {
    async listSchedules(request, context) {
      const visible = await visibleSchedules(parts, request.workspaceId, context);
      const where = { ...visible, and: [filterOf(request)] };
      return findBoundedPage(
        {
          ...{ collection: parts.schedules, where, sort: namedSort(request.sort) },
          present: (schedules) => presentSchedules(parts, schedules),
          bytesOf: ({ input }) => input.length,
        },
        request.page,
      );
    },

    async createSchedule(request, context) {
      const target = targetIn(request);
      if (target === undefined) throw MissingTarget({}, { param: 'agent_id' });
      const place = await placeOfTarget(parts, target, request.workspaceId, context);
      const { schedule, state } = await create(parts, request, target, place, context);
      return presentSchedule(parts, schedule, state);
    },

    async getSchedule({ scheduleId, include }, context) {
      const { schedule } = await seeSchedule(parts, scheduleId, context);
      return presentSchedule(parts, schedule, await parts.states.get(scheduleId), {
        fires: include.includes(ScheduleInclude.FIRES),
        recentRuns: include.includes(ScheduleInclude.RECENT_RUNS),
      });
    },

    updateSchedule: (request, context) => updateSchedule(parts, request, context),

    async deleteSchedule({ scheduleId }, context) {
      await context.inTurn(parts.schedules.spec.name, scheduleId);
      const access = await seeSchedule(parts, scheduleId, context);
      requireMayChange(access, context.caller);
      if (access.place.archived) throw WorkspaceArchived();
      requireVersion(context, access.schedule.version, access.schedule);
      const state = await context.work.get(parts.states, scheduleId);
      if (state === undefined) throw NotFound();
      await removeSchedule(parts, context.work, { schedule: access.schedule, state });
      return { id: scheduleId, deleted: true };
    },
  };
}

function filterOf(request: ListSchedulesRequest): Where<ScheduleRecord> {
  const { agentId, automationId, status, q, createdBy } = request;
  const named = Object.entries(ScheduleStatus)
    .find(([, value]) => value === status)?.[0]
    .toLowerCase();
  return {
    ...(agentId !== undefined && { agentId }),
    ...(automationId !== undefined && { automationId }),
    ...(named !== undefined && named !== 'unspecified' && { status: named }),
    ...(q !== '' && { nameFold: { substring: foldName(q) } }),
    ...(createdBy !== undefined && { createdById: createdBy }),
    ...timesWithin(request),
  };
}

async function create(
  parts: ScheduleParts,
  request: CreateScheduleRequest,
  { type: targetType, id: targetId }: Target,
  { tenant, orgId, workspaceId }: Place,
  context: CallContext,
): Promise<Pair> {
  const { caller, work, actor: createdBy } = context;
  const timezone = request.timezone ?? (await timezoneOf(parts, workspaceId, context));
  const now = parts.now();
  const fields = readNewSchedule(request, {
    targetType,
    timezone,
    now,
    inputBytes: parts.settings.automationInputBytes,
  });
  await requireDelivery(parts, fields.deliverTo, { orgId }, context);
  await requireAttachments(parts, { targetType, ...fields }, context);
  await parts.quota.reserve(work, workspaceId);
  const at = timestamp(now);
  const isActive = request.isActive ?? true;
  const named: ScheduleRecord = {
    ...{ id: newId(), version: 1, tenant, orgId, workspaceId, targetType, ...fields },
    ...(targetType === 'agent' ? { agentId: targetId } : { automationId: targetId }),
    ...{ status: isActive ? 'active' : 'paused', pausedReason: isActive ? undefined : 'person' },
    ...{
      actsAs: rightsOfCaller(caller),
      createdBy,
      createdById: caller.userId,
      createdAt: at,
      updatedAt: at,
      updatedBy: createdBy,
    },
  };
  const state: ScheduleStateRecord = {
    ...{ id: named.id, version: 1, tenant, workspaceId, plannedUntil: at, tzVersion: parts.tzVersion },
    ...{ caughtUp: 0, runCount: 0, skippedCount: 0, missedCount: 0, consecutiveFailures: 0 },
    ...{ recentStarts: [], recentDurations: [] },
  };
  const pair = { schedule: named, state };
  const planned = lookSoon(isActive ? await planAhead(parts, work, pair, now) : pair, now);
  return {
    schedule: work.insert(parts.schedules, planned.schedule),
    state: work.insert(parts.states, planned.state),
  };
}

async function timezoneOf(
  { peers }: Pick<ScheduleParts, 'peers'>,
  workspaceId: string,
  { onward }: CallContext,
): Promise<string> {
  const { settings } = await peers.workspaces.getWorkspace({ workspaceId }, onward);
  return settings?.timezone || 'UTC';
}
