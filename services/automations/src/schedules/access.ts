import { type Caller, credentialOutOfScope, reachesPlace, workspacesReached } from '@commonplace/kit/auth';
import {
  type AppError,
  InsufficientRole,
  invalidField,
  isOfOlderPeer,
  NotFound,
  WorkspaceArchived,
} from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import { openWorkspace } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { insufficientScope } from '../definitions/errors.js';
import { editPlace, mayAdminister, mayEdit, type Place, readableWorkspaces, readPlace } from '../policy.js';
import type { Target } from './fields.js';
import { agentInputOf } from './input.js';
import type { ScheduleParts } from './parts.js';
import type { Delivery, ScheduleRecord } from './records.js';

/** Maximum ids in one call to the agents service. */
const CHUNK = 200;

// ---- who may start a target

/**
 * Returns the workspace of a schedule for a target that the caller may run. Throws `not_found` for a target that the
 * caller cannot see, and the errors of the workspace.
 */
export async function placeOfTarget(
  parts: ScheduleParts,
  { type, id, param }: Target,
  workspaceId: string | undefined,
  context: CallContext,
): Promise<Place> {
  if (type === 'agent') return placeOfAgent(parts, { id, param }, workspaceId, context);
  const automation = await context.work.get(parts.automations, id);
  if (automation === undefined) throw NotFound({}, { param });
  const place = await editPlace(parts, automation.workspaceId, context, param);
  if (workspaceId !== undefined && workspaceId !== automation.workspaceId) throw otherWorkspace();
  context.work.expect(parts.automations, automation);
  return place;
}

const otherWorkspace = (): AppError =>
  invalidField(
    'workspace_id',
    'invalid_value',
    'workspace_id must be the workspace of the automation: it runs in no other.',
  );

async function placeOfAgent(
  parts: ScheduleParts,
  { id, param }: Pick<Target, 'id' | 'param'>,
  named: string | undefined,
  context: CallContext,
): Promise<Place> {
  const place = await openWorkspace(context.caller, named, (id) => readPlace(parts, id, context, 'workspace_id'));
  const { items } = await parts.peers.agents.lookUpAgents({ agentIds: [id] }, context.onward);
  const agent = items.find((one) => one.id === id);
  if (agent === undefined) throw NotFound({}, { param });
  if (place.archived) throw WorkspaceArchived();
  if (agent.orgId === place.orgId) return place;
  throw invalidField('workspace_id', 'invalid_value', 'workspace_id must be of the tenant that the agent belongs to.');
}

// ---- who may see and change a schedule

/** The scope that posting the results of a schedule needs, by where they are posted. */
const DELIVERY_SCOPES = { im_conversation: 'im:write', chat_session: 'chat_session:write' } as const;

/**
 * Throws unless a schedule in an Org, or in Personal, could post its results for the caller: `insufficient_scope` without
 * the scope that this needs, `not_found` for a conversation that the caller is no active member of, or a chat session
 * that is not theirs, and `tenant_boundary` for a conversation that their credential does not reach.
 */
export async function requireDelivery(
  parts: Pick<ScheduleParts, 'peers' | 'systemCall'>,
  deliverTo: Delivery | undefined,
  place: Pick<Place, 'orgId'>,
  { caller }: CallContext,
): Promise<void> {
  if (deliverTo === undefined) return;
  const scope = DELIVERY_SCOPES[deliverTo.type];
  if (!caller.credential.scopes.includes(scope)) throw insufficientScope(scope, 'deliver_to');
  const mayDeliver = deliverTo.type === 'im_conversation' ? mayPost : mayAnswer;
  if (!(await mayDeliver(parts, deliverTo.id, place, caller))) throw NotFound({}, { param: 'deliver_to.id' });
}

type DeliveryCheck = (
  parts: Pick<ScheduleParts, 'peers' | 'systemCall'>,
  id: string,
  place: Pick<Place, 'orgId'>,
  caller: Caller,
) => Promise<boolean>;

const mayPost: DeliveryCheck = async ({ peers, systemCall }, conversationId, _, caller) => {
  const pairs = [{ userId: caller.userId, conversationId }];
  const { standings } = await peers.conversations.checkMembers({ pairs }, systemCall());
  const [standing] = standings;
  if (standing?.isActive !== true) return false;
  const { workspaceId, orgId } = standing;
  if (reachesPlace(caller, { workspaceId: workspaceId || undefined, orgId })) return true;
  throw credentialOutOfScope(caller, orgId || null);
};

const mayAnswer: DeliveryCheck = async ({ peers, systemCall }, sessionId, { orgId }, caller) => {
  const { userId } = caller;
  const request = { sessionId, userId, orgId: orgId ?? '', limitedTo: [...(workspacesReached(caller) ?? [])] };
  try {
    return (await peers.agentRuns.checkAnswerSession(request, systemCall())).mayAnswer;
  } catch (error) {
    // It checks when it starts the run.
    if (isOfOlderPeer(error)) return true;
    throw error;
  }
};

/** Throws `not_found` for an attachment of an agent's input that the caller cannot read. */
export async function requireAttachments(
  { peers }: Pick<ScheduleParts, 'peers'>,
  { targetType, input }: Pick<ScheduleRecord, 'targetType' | 'input'>,
  { onward }: CallContext,
): Promise<void> {
  if (targetType !== 'agent') return;
  const { attachments } = agentInputOf(input);
  if (attachments.length === 0) return;
  const { resources } = await peers.index.checkAccess({ ids: [...new Set(attachments)] }, onward);
  const readable = new Set(resources.map(({ id }) => id));
  const at = attachments.findIndex((id) => !readable.has(id));
  if (at >= 0) throw NotFound({}, { param: `input.attachments[${at}]` });
}

interface ScheduleAccess {
  readonly schedule: ScheduleRecord;
  readonly place: Place;
}

/**
 * Returns a schedule that the caller can see. Readers of the workspace see the schedules of automations; a schedule of
 * an agent is visible to readers who may use the agent, created the schedule or administer the workspace. Throws
 * `not_found` for all others.
 */
export async function seeSchedule(
  parts: ScheduleParts,
  scheduleId: string,
  context: CallContext,
): Promise<ScheduleAccess> {
  const schedule = await context.work.get(parts.schedules, scheduleId);
  if (schedule === undefined) throw NotFound();
  const place = await readPlace(parts, schedule.workspaceId, context);
  if (await isVisible(parts, schedule, place, context)) return { schedule, place };
  throw NotFound();
}

/** Returns those of some schedules that the caller can see. */
export async function visibleAmong(
  parts: Pick<ScheduleParts, 'memberships' | 'peers'>,
  schedules: readonly ScheduleRecord[],
  context: CallContext,
): Promise<ScheduleRecord[]> {
  const { caller, onward } = context;
  const workspaces = new Set(await readableWorkspaces(parts, context));
  const agents = new Set(schedules.flatMap(({ agentId }) => agentId ?? []));
  const usable = new Set(await usableAgents(parts, [...agents], context));
  const person = await parts.memberships.of(caller.userId, onward);
  const administers = (workspaceId: string) => {
    const role = person.workspaces.get(workspaceId)?.role;
    return role !== undefined && mayAdminister({ role });
  };
  return schedules.filter(
    ({ workspaceId, agentId, createdById }) =>
      workspaces.has(workspaceId) &&
      (agentId === undefined || createdById === caller.userId || usable.has(agentId) || administers(workspaceId)),
  );
}

async function isVisible(parts: ScheduleParts, schedule: ScheduleRecord, place: Place, context: CallContext) {
  const { agentId, createdById } = schedule;
  if (agentId === undefined || createdById === context.caller.userId || mayAdminister(place)) return true;
  return (await usableAgents(parts, [agentId], context)).length > 0;
}

async function usableAgents(
  parts: Pick<ScheduleParts, 'peers'>,
  ids: readonly string[],
  { onward }: CallContext,
): Promise<string[]> {
  const usable: string[] = [];
  for (let at = 0; at < ids.length; at += CHUNK) {
    const { items } = await parts.peers.agents.lookUpAgents({ agentIds: ids.slice(at, at + CHUNK) }, onward);
    usable.push(...items.map(({ id }) => id));
  }
  return usable;
}

/**
 * Throws unless the caller administers the workspace of the schedule, or created the schedule and still has the role that
 * its target needs.
 */
export function requireMayChange({ schedule, place }: ScheduleAccess, { userId }: Caller): void {
  const isCreator = schedule.createdById === userId && mayStart(schedule, place.role);
  if (!isCreator && !mayAdminister(place)) throw InsufficientRole();
}

/** Returns whether a person with a role in its workspace may start the target of a schedule. */
export function mayStart({ targetType }: Pick<ScheduleRecord, 'targetType'>, role: WorkspaceRole): boolean {
  return targetType === 'automation' ? mayEdit({ role }) : role !== WorkspaceRole.GUEST;
}

/** Returns the filter for the schedules that the caller can see, in one workspace or in all. */
export async function visibleSchedules(
  parts: ScheduleParts,
  workspaceId: string | undefined,
  context: CallContext,
): Promise<Where<ScheduleRecord>> {
  const workspaces =
    workspaceId === undefined
      ? await readableWorkspaces(parts, context)
      : [(await readPlace(parts, workspaceId, context, 'workspace_id')).workspaceId];
  const within: Where<ScheduleRecord> = { workspaceId: { in: workspaces } };
  const agents = [...(await parts.schedules.countBy('agentId', within)).keys()];
  const usable = agents.length === 0 ? [] : await usableAgents(parts, agents, context);
  if (usable.length === agents.length) return within;
  const person = await parts.memberships.of(context.caller.userId, context.onward);
  const administered = workspaces.filter((id) => {
    const role = person.workspaces.get(id)?.role;
    return role !== undefined && mayAdminister({ role });
  });
  return {
    ...within,
    or: [
      { targetType: 'automation' },
      { agentId: { in: usable } },
      { createdById: context.caller.userId },
      { workspaceId: { in: administered } },
    ],
  };
}
