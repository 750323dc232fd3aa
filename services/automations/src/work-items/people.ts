import { invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { AssigneeType } from '@commonplace/proto/automations/v1/work_item.js';
import type { AssigneeInput } from '@commonplace/proto/automations/v1/work_item_service.js';
import type { WorkItemParts } from './parts.js';
import type { StoredAssignee, WorkItemRecord } from './records.js';

/** The assignee of a work item, and whether the assignment starts a run by default (agents only). */
export interface ChosenAssignee {
  readonly assignee: StoredAssignee;
  readonly autoRun: boolean;
}

type AssigneeParts = Pick<WorkItemParts, 'memberships' | 'peers'>;
type Where = Pick<WorkItemRecord, 'orgId' | 'workspaceId'>;

/**
 * Returns the person or the agent that a request names. Throws `NotFound` for a person who does not belong to the
 * workspace, and for an agent that the caller may not use or that belongs to another tenant.
 */
export async function chooseAssignee(
  parts: AssigneeParts,
  { type, id }: AssigneeInput,
  where: Where,
  context: CallContext,
): Promise<ChosenAssignee> {
  if (id === '') throw invalidField('assignee.id', 'missing_field', 'is required.');
  if (type === AssigneeType.USER) return { assignee: await personIn(parts, id, where, context), autoRun: false };
  if (type !== AssigneeType.AGENT)
    throw invalidField('assignee.type', 'missing_field', 'assignee.type must be user or agent.');
  const { items } = await parts.peers.agents.lookUpAgents({ agentIds: [id] }, context.onward);
  const agent = items.find((one) => one.id === id && one.orgId === where.orgId);
  if (agent === undefined) throw NotFound({}, { param: 'assignee.id' });
  return { assignee: { type: 'agent', id, name: agent.name }, autoRun: agent.autoRun };
}

async function personIn(
  { memberships, peers }: AssigneeParts,
  id: string,
  { workspaceId }: Where,
  { onward }: CallContext,
): Promise<StoredAssignee> {
  const belongs =
    (await memberships.of(id, onward)).workspaces.has(workspaceId) ||
    (await memberships.fresh(id, onward)).workspaces.has(workspaceId);
  const { users } = belongs ? await peers.auth.findUsers({ ids: [id], emails: [] }, onward) : { users: [] };
  const [person] = users;
  if (person === undefined) throw NotFound({}, { param: 'assignee.id' });
  return { type: 'user', id, name: person.name };
}
