import type { CallContext } from '@commonplace/kit/rpc';
import type { UpdateWorkItemRequest } from '@commonplace/proto/automations/v1/work_item_service.js';
import type { SeenItem } from './access.js';
import { changedFields, recordChange } from './activity.js';
import { isSame, newlyAssigned } from './assignment.js';
import { requireAgent } from './create.js';
import { OpenChildren } from './errors.js';
import { itemEvent } from './events.js';
import { derivedFrom, NamedFields, priorityOf, requestedPosition, statusOf } from './fields.js';
import type { WorkItemParts } from './parts.js';
import { type ChosenAssignee, chooseAssignee } from './people.js';
import { positionFor } from './positions.js';
import { isOpen, type WorkItemRecord } from './records.js';
import { chooseResources } from './resources.js';
import { requestRun } from './run-starts.js';
import { lineOfParent, parentKeyOf, recount, requireMovable } from './tree.js';

/** Changes a work item in the unit of work of a call. A request that changes nothing writes nothing. */
export async function changeItem(
  parts: WorkItemParts,
  seen: SeenItem,
  request: UpdateWorkItemRequest,
  context: CallContext,
): Promise<WorkItemRecord> {
  const { item: before } = seen;
  const { work, caller, actor } = context;
  const named = new NamedFields(request);
  const chosen = request.assignee && (await chooseAssignee(parts, request.assignee, before, context));
  const assigned = assignmentOf(before, request, named, chosen);
  const fields = {
    ...before,
    ...textsOf(seen, request, named),
    ...assigned,
    ...plainFields(request, named),
    ...(await placeOf(parts, before, request, named, context)),
    ...(request.resourceIds && {
      resourceIds: await chooseResources(
        parts,
        request.resourceIds.items,
        before.resourceIds,
        before.workspaceId,
        context,
      ),
    }),
    ...(await statusChange(parts, before, request, context)),
  };
  const starts = assigned.startedAssignment !== before.startedAssignment;
  const draft = { ...fields, ...derivedFrom(fields) };
  const changed = changedFields(before, draft);
  if (changed.length === 0 && !starts) return before;
  const updated = { updatedBy: actor, updatedAt: new Date(parts.now()).toISOString() };
  const item = work.replace(parts.items, before, { ...draft, ...updated });
  await recount(parts, before, item, work);
  if (starts) requestRun(parts, item, caller, work);
  await recordChange(parts, before, item, actor, work);
  const assignedUserIds = newlyAssigned(before, item, caller);
  work.publish(itemEvent(context, 'updated', item, { changedFields: changed, assignedUserIds }));
  return item;
}

/** Returns the changed texts with the caller's taint, since whoever replaces a text becomes its author. */
function textsOf({ item, rights }: SeenItem, { title, description }: UpdateWorkItemRequest, named: NamedFields) {
  const taint = rights.taintOf(item);
  const text = description ?? '';
  return {
    ...(title !== undefined && title !== item.title && { title, titleTaint: taint }),
    ...(named.has('description') &&
      text !== item.description && { description: text, descriptionTaint: text === '' ? undefined : taint }),
  };
}

function plainFields(request: UpdateWorkItemRequest, named: NamedFields): Partial<WorkItemRecord> {
  const { labels, estimate, startAt, dueAt, externalId } = request;
  const priority = priorityOf(request.priority);
  return {
    ...(priority !== undefined && { priority }),
    ...(labels !== undefined && { labels: [...new Set(labels.items)] }),
    ...(named.has('estimate') && { estimate }),
    ...(named.has('start_at') && { startAt }),
    ...(named.has('due_at') && { dueAt }),
    ...(named.has('external_id') && { externalId }),
  };
}

/** Returns the assignee after a change, and whether the assignment starts a run. Each assignment starts at most one. */
function assignmentOf(
  before: WorkItemRecord,
  { autoRun }: UpdateWorkItemRequest,
  named: NamedFields,
  chosen: ChosenAssignee | undefined,
): Pick<WorkItemRecord, 'assignee' | 'assignment' | 'startedAssignment'> {
  const assignee = named.has('assignee') ? chosen?.assignee : before.assignee;
  requireAgent(autoRun, assignee && { assignee });
  const isNew = !isSame(before.assignee, assignee);
  const assignment = before.assignment + Number(isNew);
  const mayStart = assignee?.type === 'agent' && before.startedAssignment !== assignment;
  const isAsked = isNew ? (autoRun ?? chosen?.autoRun ?? false) : autoRun === true;
  // The name is stored as of the assignment.
  const known = isNew ? assignee : before.assignee;
  return {
    assignee: known,
    assignment,
    startedAssignment: mayStart && isAsked ? assignment : before.startedAssignment,
  };
}

async function placeOf(
  parts: WorkItemParts,
  before: WorkItemRecord,
  request: UpdateWorkItemRequest,
  named: NamedFields,
  context: CallContext,
): Promise<Partial<Pick<WorkItemRecord, 'parentId' | 'position'>>> {
  const { work } = context;
  const { id, number, workspaceId } = before;
  const parentId = named.has('parent_id') ? request.parentId : before.parentId;
  const isMoved = parentId !== before.parentId;
  const requested = requestedPosition(request) ?? (isMoved ? ({ at: 'last' } as const) : undefined);
  if (isMoved && parentId !== undefined) {
    await requireMovable(parts, before, await lineOfParent(parts, parentId, workspaceId, work), work);
  }
  if (requested === undefined) return {};
  const placed = { id, number, parentKey: parentKeyOf({ parentId, workspaceId }) };
  const position = await positionFor(parts, placed, requested, context);
  return { parentId, position };
}

async function statusChange(
  parts: WorkItemParts,
  { id, status: before }: WorkItemRecord,
  request: UpdateWorkItemRequest,
  { work }: CallContext,
): Promise<Partial<Pick<WorkItemRecord, 'status' | 'completedAt'>>> {
  const status = statusOf(request.status);
  if (status === undefined || status === before) return {};
  if (status === 'done' && !request.force) {
    const { open = 0 } = (await work.get(parts.counts, id)) ?? {};
    if (open > 0) throw OpenChildren({ open });
    // Makes the handler run again if a child is opened at the same time.
    work.incrementWithin(parts.counts, id, 'open', 0, { atMost: 0 });
  }
  return { status, completedAt: isOpen(status) ? undefined : new Date(parts.now()).toISOString() };
}
