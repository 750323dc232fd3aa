import { jsonBytes } from '@commonplace/kit/json';
import type { CallContext } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import { enumName, enumValue } from '@commonplace/platform/enums';
import type { WorkRun } from '@commonplace/proto/agents/v1/work_run_service.js';
import {
  AssigneeType,
  type WorkItem,
  type WorkItemActivity,
  WorkItemPriority,
  type WorkItemRun,
  WorkItemStatus,
} from '@commonplace/proto/automations/v1/work_item.js';
import { WorkItemInclude } from '@commonplace/proto/automations/v1/work_item_service.js';
import { type ItemRights, rightsOf } from './access.js';
import { SHOWN_ACTIVITIES } from './activity.js';
import type { WorkItemParts } from './parts.js';
import type { ActivityRecord, RunLinkRecord, WorkItemRecord } from './records.js';
import { readableAmong } from './resources.js';
import { MAX_LINKS } from './run-links.js';
import { findInSlices } from './slices.js';

/** Number of work items whose runs one query reads. */
const CHUNK = 50;
/** Maximum number of children that `include=children` returns. */
const SHOWN_CHILDREN = 200;

type Present = Pick<WorkItemParts, 'items' | 'counts' | 'links' | 'activities' | 'peers' | 'memberships'>;

/** The data for presenting work items that depends on the reader. */
interface View {
  readonly readable: ReadonlyMap<string, string>;
  readonly childCounts: ReadonlyMap<string, number>;
  readonly links: ReadonlyMap<string, readonly RunLinkRecord[]>;
}

/** Returns work items with what the caller may see. */
export async function presentItems(
  parts: Present,
  items: readonly WorkItemRecord[],
  context: CallContext,
): Promise<WorkItem[]> {
  const rights = await rightsOf(parts, context);
  const view = await viewOf(parts, items, rights, context);
  return items.map((item) => itemMessage(item, view));
}

export async function presentItem(parts: Present, item: WorkItemRecord, context: CallContext): Promise<WorkItem> {
  const [message] = await presentItems(parts, [item], context);
  return message as WorkItem;
}

/** Returns a work item with the included parts. */
export async function presentWith(
  parts: Present,
  item: WorkItemRecord,
  include: readonly WorkItemInclude[],
  context: CallContext,
): Promise<WorkItem> {
  const rights = await rightsOf(parts, context);
  const wants = (one: WorkItemInclude) => include.includes(one);
  const activities = wants(WorkItemInclude.ACTIVITY) ? await activitiesOf(parts, item) : [];
  const children = wants(WorkItemInclude.CHILDREN) ? await childrenOf(parts, item, rights) : [];
  const named = activities.flatMap(resourcesIn);
  const view = await viewOf(parts, [item, ...children], rights, context, named);
  const links = view.links.get(item.id) ?? [];
  const runs = wants(WorkItemInclude.RUNS) ? await runsOf(parts, links, context) : [];
  const seenRuns = new Set(links.map(({ id }) => id));
  return {
    ...itemMessage(item, view),
    children: children.map((child) => itemMessage(child, view)),
    runs,
    activity: activities.map((one) => activityMessage(one, view.readable, seenRuns)),
  };
}

async function viewOf(
  { counts, links, peers }: Present,
  items: readonly WorkItemRecord[],
  rights: ItemRights,
  context: CallContext,
  moreResources: readonly string[] = [],
): Promise<View> {
  const ids = items.map(({ id }) => id);
  const [readable, counted] = await Promise.all([
    readableAmong({ peers }, [...items.flatMap(({ resourceIds }) => resourceIds), ...moreResources], context),
    counts.getMany(ids),
  ]);
  const byItem = new Map<string, RunLinkRecord[]>();
  for (let at = 0; at < ids.length; at += CHUNK) {
    const where = { itemId: { in: ids.slice(at, at + CHUNK) } };
    const found = await findInSlices(links, { where, sort: ['-createdAt'], limit: CHUNK * MAX_LINKS });
    for (const link of found) {
      if (!isVisible(link.workspaceId, rights, context)(link.initiatorId)) continue;
      byItem.set(link.itemId, [...(byItem.get(link.itemId) ?? []), link]);
    }
  }
  return { readable, links: byItem, childCounts: new Map(counted.map(({ id, children }) => [id, children])) };
}

/**
 * Returns a function that checks whether the caller can see a run: the person who started it and administrators of the
 * workspace can.
 */
function isVisible(workspaceId: string, rights: ItemRights, { caller }: CallContext): (initiatorId: string) => boolean {
  return (initiatorId) => initiatorId === caller.userId || rights.administers(workspaceId);
}

// ---- included parts

function activitiesOf({ activities }: Present, { id: itemId }: WorkItemRecord): Promise<ActivityRecord[]> {
  return findInSlices(activities, { where: { itemId }, sort: ['-at'], limit: SHOWN_ACTIVITIES });
}

async function childrenOf({ items }: Present, { id }: WorkItemRecord, rights: ItemRights): Promise<WorkItemRecord[]> {
  const found = await findInSlices(items, { where: { parentKey: id }, sort: ['position'], limit: SHOWN_CHILDREN });
  return found.filter((child) => rights.canRead(child));
}

async function runsOf(
  { peers }: Present,
  links: readonly RunLinkRecord[],
  context: CallContext,
): Promise<WorkItemRun[]> {
  if (links.length === 0) return [];
  const { items } = await peers.agentRuns.findWorkRuns({ runIds: links.map(({ id }) => id) }, context.onward);
  const found = new Map(items.map((run) => [run.id, run]));
  return links.flatMap((link) => {
    const run = found.get(link.id);
    return run === undefined ? [] : [runMessage(run)];
  });
}

// ---- messages

function itemMessage(item: WorkItemRecord, { readable, links, childCounts }: View): WorkItem {
  const { assignee } = item;
  return {
    id: item.id,
    number: item.number,
    workspaceId: item.workspaceId,
    title: item.title,
    description: item.description,
    status: enumValue(WorkItemStatus, item.status),
    priority: enumValue(WorkItemPriority, item.priority),
    assignee: assignee && { ...assignee, type: assignee.type === 'agent' ? AssigneeType.AGENT : AssigneeType.USER },
    labels: [...item.labels],
    parentId: item.parentId,
    childCount: childCounts.get(item.id) ?? 0,
    resourceIds: item.resourceIds.filter((id) => readable.has(id)),
    runIds: (links.get(item.id) ?? []).map(({ id }) => id),
    estimate: item.estimate,
    position: item.position,
    startAt: item.startAt,
    dueAt: item.dueAt,
    completedAt: item.completedAt,
    externalId: item.externalId,
    createdBy: actorMessage(item.createdBy),
    createdAt: item.createdAt,
    updatedAt: item.updatedAt,
    version: item.version,
    untrusted: item.titleTaint !== undefined || item.descriptionTaint !== undefined,
    children: [],
    runs: [],
    activity: [],
  };
}

function runMessage({ id, agentId, status, createdAt, finishedAt }: WorkRun): WorkItemRun {
  return {
    ...{ id, agentId, status: enumName(status, 'RUN_STATUS') },
    ...{ createdAt: createdAt || undefined, finishedAt: finishedAt || undefined },
  };
}

function activityMessage(
  { id, type, actor, at, changes, runId, reason }: ActivityRecord,
  readable: ReadonlyMap<string, string>,
  seenRuns: ReadonlySet<string>,
): WorkItemActivity {
  const shown = (field: string, value: unknown) =>
    jsonBytes((field === 'resource_ids' ? asIds(value).filter((one) => readable.has(one)) : value) ?? null);
  return {
    ...{ id, type, actor: actorMessage(actor), at, reason },
    runId: runId !== undefined && seenRuns.has(runId) ? runId : undefined,
    changes: changes.map(({ field, from, to }) => ({ field, from: shown(field, from), to: shown(field, to) })),
  };
}

const asIds = (value: unknown): string[] => (Array.isArray(value) ? (value as string[]) : []);

function resourcesIn({ changes }: ActivityRecord): string[] {
  return changes.flatMap(({ field, from, to }) => (field === 'resource_ids' ? [...asIds(from), ...asIds(to)] : []));
}
