import { invalidField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { openWorkspace } from '@commonplace/platform/memberships';
import type { CreateWorkItemRequest } from '@commonplace/proto/automations/v1/work_item_service.js';
import { editPlace } from '../policy.js';
import { rightsOf } from './access.js';
import { recordActivity } from './activity.js';
import { newlyAssigned } from './assignment.js';
import { itemEvent } from './events.js';
import { derivedFrom, priorityOf, statusOf } from './fields.js';
import type { WorkItemParts } from './parts.js';
import { type ChosenAssignee, chooseAssignee } from './people.js';
import { positionFor } from './positions.js';
import { isOpen, type WorkItemRecord } from './records.js';
import { chooseResources } from './resources.js';
import { requestRun } from './run-starts.js';
import { numberKey } from './search.js';
import { countChildren, lineOfParent, noteGrowth, parentKeyOf, requireDepth } from './tree.js';

type Place = Awaited<ReturnType<typeof editPlace>>;

/** Creates a work item in the unit of work of a call. */
export async function createItem(
  parts: WorkItemParts,
  request: CreateWorkItemRequest,
  context: CallContext,
): Promise<WorkItemRecord> {
  const { caller, work } = context;
  const place = await openWorkspace(caller, request.workspaceId, (id) => editPlace(parts, id, context, 'workspace_id'));
  const chosen = request.assignee && (await chooseAssignee(parts, request.assignee, place, context));
  requireAgent(request.autoRun, chosen);
  const resourceIds = await chooseResources(parts, request.resourceIds, [], place.workspaceId, context);
  await requireRoom(parts, request, place, context);
  await parts.quota.reserve(work, place.workspaceId);
  // The number is used up even if this unit of work fails.
  context.acts();
  const number = await parts.numbers.next(place);
  const draft = await draftOf(parts, request, place, number, context);
  const runs = chosen?.assignee.type === 'agent' && (request.autoRun ?? chosen.autoRun);
  const assigned = { assignee: chosen?.assignee, assignment: chosen === undefined ? 0 : 1 };
  const fields = { ...draft, resourceIds, ...assigned, ...(runs && { startedAssignment: assigned.assignment }) };
  const item = work.insert(parts.items, { ...fields, ...derivedFrom(fields) });
  const { id, tenant, workspaceId, createdAt } = item;
  work.insert(parts.counts, { id, tenant, workspaceId, children: 0, open: 0, growth: 0 });
  if (runs) requestRun(parts, item, caller, work);
  recordActivity(parts, item, { type: 'created', actor: context.actor }, createdAt, work);
  work.publish(itemEvent(context, 'created', item, { assignedUserIds: newlyAssigned(undefined, item, caller) }));
  return item;
}

/** Throws if the request asks for a run without assigning the item to an agent. */
export function requireAgent(autoRun: boolean | undefined, chosen: Pick<ChosenAssignee, 'assignee'> | undefined): void {
  if (autoRun !== true || chosen?.assignee.type === 'agent') return;
  throw invalidField(
    'auto_run',
    'invalid_value',
    'auto_run starts a run of an agent, and the work item is assigned to none.',
  );
}

/** Throws unless the parent may have another child, and counts it. */
async function requireRoom(
  parts: WorkItemParts,
  { parentId, status }: CreateWorkItemRequest,
  { workspaceId }: Place,
  { work }: CallContext,
): Promise<void> {
  if (parentId === undefined) return;
  const line = await lineOfParent(parts, parentId, workspaceId, work);
  requireDepth(parts, line.length, 0);
  await noteGrowth(parts, line, work);
  await countChildren(parts, parentId, 1, Number(isOpen(statusOf(status) ?? 'todo')), work);
}

async function draftOf(
  parts: WorkItemParts,
  request: CreateWorkItemRequest,
  { tenant, orgId, workspaceId }: Place,
  number: number,
  context: CallContext,
) {
  const { title, description, parentId, estimate, startAt, dueAt, externalId, labels } = request;
  const now = new Date(parts.now()).toISOString();
  const status = statusOf(request.status) ?? 'todo';
  const taint = (await rightsOf(parts, context)).taintOf({ workspaceId });
  const placed = { id: undefined, number, parentKey: parentKeyOf({ parentId, workspaceId }) };
  return {
    ...{ id: newId(), tenant, orgId, workspaceId, number, numberKey: numberKey(workspaceId, number) },
    ...{ title, description, titleTaint: taint, descriptionTaint: description === '' ? undefined : taint },
    ...{ status, priority: priorityOf(request.priority) ?? ('none' as const), labels: [...new Set(labels)] },
    ...{ parentId, position: await positionFor(parts, placed, { at: 'last' }, context) },
    ...{ estimate, startAt, dueAt, completedAt: isOpen(status) ? undefined : now, externalId },
    ...{ creatorId: context.caller.userId, createdBy: context.actor, updatedBy: context.actor },
    ...{ createdAt: now, updatedAt: now },
  };
}
