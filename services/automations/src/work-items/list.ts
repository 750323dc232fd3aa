import { credentialOutOfScope, reachesWorkspace } from '@commonplace/kit/auth';
import { invalidField, NotFound } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import {
  countTotal,
  EXACT_TOTAL,
  invalidCursor,
  pageOf,
  pageOfAll,
  parsePageRequest,
  type Slice,
  type Sort,
  sortsBy,
  type Total,
  timesWithin,
  toPage,
  totalOf,
  type Where,
} from '@commonplace/kit/store';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import type { ListWorkItemsRequest } from '@commonplace/proto/automations/v1/work_item_service.js';
import { readableWorkspaces, readPlace } from '../policy.js';
import { rightsOf } from './access.js';
import { assigneeKey, priorityOf, statusOf } from './fields.js';
import type { WorkItemParts } from './parts.js';
import { NEVER, PRIORITIES, type WorkItemRecord } from './records.js';
import { matchingQuery, withLabel } from './search.js';
import { findInSlices } from './slices.js';

type ListParts = Pick<WorkItemParts, 'items' | 'memberships' | 'peers'>;

/** Returns a page of the work items that the caller can read. */
export async function listItems(
  parts: ListParts,
  request: ListWorkItemsRequest,
  context: CallContext,
): Promise<{ items: WorkItemRecord[]; page: Page }> {
  const assigneeId = request.assigneeId === 'me' ? context.caller.userId : request.assigneeId;
  if (assigneeId !== undefined && !isUuid(assigneeId)) {
    throw invalidField('assignee_id', 'invalid_value', 'assignee_id must be the id of a person, or me.');
  }
  if (request.parentId !== undefined && request.parentId !== 'root' && !isUuid(request.parentId)) {
    throw invalidField('parent_id', 'invalid_value', 'parent_id must be the id of a work item, or root.');
  }
  const sort = sortOf(request.sort);
  const slice = parsePageRequest(request.page);
  requireCursorOf(slice, sort);
  const isOwn = assigneeId === context.caller.userId && context.caller.authorId === undefined;
  const workspaceIds = await listedWorkspaces(parts, request.workspaceId, isOwn, context);
  const where = (ids: readonly string[]) => filterOf({ ...request, assigneeId }, ids);
  return findPageIn(parts, workspaceIds, where, sort, slice);
}

/**
 * Returns the workspaces of a list. Workspaces where the caller is a guest are included only if the list is limited to
 * the caller's own assignments.
 */
async function listedWorkspaces(
  parts: ListParts,
  workspaceId: string | undefined,
  isOwn: boolean,
  context: CallContext,
): Promise<string[]> {
  if (workspaceId === undefined) {
    return isOwn ? (await rightsOf(parts, context)).reached() : readableWorkspaces(parts, context);
  }
  if (!isOwn) return [(await readPlace(parts, workspaceId, context, 'workspace_id')).workspaceId];
  const { caller, onward } = context;
  const known = (await parts.memberships.of(caller.userId, onward)).workspaces.get(workspaceId);
  const found = known ?? (await parts.memberships.fresh(caller.userId, onward)).workspaces.get(workspaceId);
  if (found === undefined) throw NotFound({}, { param: 'workspace_id' });
  const orgId = found.orgId || null;
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
  return [workspaceId];
}

// ---- filters

function filterOf(request: ListWorkItemsRequest, workspaceIds: readonly string[]): Where<WorkItemRecord> {
  const { assigneeId, agentId, label, q } = request;
  const statuses = request.status.flatMap((one) => statusOf(one) ?? []);
  const ranks = request.priority.flatMap((one) => {
    const priority = priorityOf(one);
    return priority === undefined ? [] : [PRIORITIES.indexOf(priority)];
  });
  return {
    workspaceId: oneOf(workspaceIds),
    ...(statuses.length > 0 && { status: oneOf(statuses) }),
    ...(ranks.length > 0 && { rank: oneOf(ranks) }),
    ...parentFilter(request, workspaceIds),
    ...dueFilter(request),
    ...timesWithin(request),
    ...(request.createdBy !== undefined && { creatorId: request.createdBy }),
    and: [
      ...(assigneeId === undefined ? [] : [{ assigneeKey: assigneeKey('user', assigneeId) }]),
      ...(agentId === undefined ? [] : [{ assigneeKey: assigneeKey('agent', agentId) }]),
      matchingQuery(q, workspaceIds),
      withLabel(label, workspaceIds),
    ],
  };
}

const oneOf = <T extends string | number>(values: readonly T[]) => {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : { in: values };
};

function parentFilter({ parentId }: ListWorkItemsRequest, workspaceIds: readonly string[]): Where<WorkItemRecord> {
  if (parentId === undefined) return {};
  return { parentKey: parentId === 'root' ? oneOf(workspaceIds) : parentId };
}

/** Returns the filter for due times, which are compared in their stored form, in milliseconds. */
function dueFilter({ dueAfter, dueBefore }: ListWorkItemsRequest): Where<WorkItemRecord> {
  if (dueAfter === undefined && dueBefore === undefined) return {};
  return { dueKey: { ...(dueAfter !== undefined && { gt: dueAfter }), lt: dueBefore ?? NEVER } };
}

// ---- order

type ItemSort = Sort<WorkItemRecord>;

const SORTS: Readonly<Record<string, ItemSort>> = {
  ...sortsBy<WorkItemRecord>({ created_at: 'createdAt', updated_at: 'updatedAt', priority: 'rank', number: 'number' }),
  due_at: ['dueKey'],
  '-due_at': ['-dueKeyDown'],
  position: ['position'],
};

const sortOf = (name: string): ItemSort => SORTS[name] ?? ['-createdAt'];
const NUMERIC: ReadonlySet<string> = new Set(['rank', 'number']);

/** Throws for a cursor that belongs to a list in another order. */
function requireCursorOf({ after }: Slice, [field]: ItemSort): void {
  if (after === undefined) return;
  const [value, id] = after;
  const expected = NUMERIC.has((field as string).replace('-', '')) ? 'number' : 'string';
  if (after.length !== 2 || typeof value !== expected || typeof id !== 'string') throw invalidCursor();
}

// ---- pages

/** Maximum number of workspaces that one query sorts; with more, each group of them is queried separately. */
const MAX_MERGED_WORKSPACES = 64;

async function findPageIn(
  { items }: Pick<ListParts, 'items'>,
  workspaceIds: readonly string[],
  where: (workspaceIds: readonly string[]) => Where<WorkItemRecord>,
  sort: ItemSort,
  slice: Slice,
): Promise<{ items: WorkItemRecord[]; page: Page }> {
  const { limit, offset, after } = slice;
  if (workspaceIds.length <= MAX_MERGED_WORKSPACES) {
    const found = await findInSlices(items, {
      ...{ where: where(workspaceIds), sort, limit: limit + 1, offset },
      ...(after && { after }),
    });
    return pageOf(slice, found, await countTotal(items, where(workspaceIds)), sort);
  }
  const breathe = createBreathe();
  const found: WorkItemRecord[] = [];
  let counted = 0;
  for (let at = 0; at < workspaceIds.length; at += MAX_MERGED_WORKSPACES) {
    const group = where(workspaceIds.slice(at, at + MAX_MERGED_WORKSPACES));
    const query = { where: group, sort, limit: offset + limit + 1, ...(after && { after }) };
    found.push(...(await findInSlices(items, query)));
    counted += await items.count(group, EXACT_TOTAL + 1);
    await breathe();
  }
  return withTotal(pageOfAll(slice, found, sort), slice, totalOf(counted), sort);
}

function withTotal(
  { items, page }: { items: WorkItemRecord[]; page: Page },
  slice: Slice,
  total: Total,
  sort: ItemSort,
): { items: WorkItemRecord[]; page: Page } {
  const last = page.hasMore ? items.at(-1) : undefined;
  const next = last && [last[(sort[0] as string).replace('-', '') as 'createdAt'], last.id];
  return { items, page: toPage(slice, total, next) };
}
