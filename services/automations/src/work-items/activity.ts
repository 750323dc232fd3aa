import type { Actor } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { WorkItemField } from '../domain/work-item-fields.js';
import type { WorkItemRecords } from './parts.js';
import type { ActivityRecord, StoredChange, WorkItemRecord } from './records.js';

/** Number of changes that are shown. */
export const SHOWN_ACTIVITIES = 100;
/** Number of changes of a work item between two removals of entries that are no longer shown. */
const TRIM_EVERY = 20;
/** Maximum characters of a text in an entry. */
const MAX_TEXT = 500;

type ActivityParts = Pick<WorkItemRecords, 'activities'>;

type NewActivity = Pick<ActivityRecord, 'type' | 'actor'> &
  Partial<Pick<ActivityRecord, 'changes' | 'runId' | 'reason'>>;

/** Records an activity of a work item, in the unit of work that causes it. */
export function recordActivity(
  { activities }: ActivityParts,
  { id: itemId, tenant, workspaceId }: Pick<WorkItemRecord, 'id' | 'tenant' | 'workspaceId'>,
  activity: NewActivity,
  at: string,
  work: UnitOfWork,
): void {
  work.insert(activities, { id: newId(), tenant, workspaceId, itemId, at, changes: [], ...activity });
}

/** Records a change of fields. Every `TRIM_EVERY` versions it removes the entries that are no longer shown. */
export async function recordChange(
  parts: ActivityParts,
  before: WorkItemRecord,
  after: WorkItemRecord,
  actor: Actor,
  work: UnitOfWork,
): Promise<void> {
  const changes = changesBetween(before, after);
  recordActivity(parts, after, { type: 'updated', actor, changes }, after.updatedAt, work);
  if (after.version % TRIM_EVERY !== 0) return;
  const { activities } = parts;
  const where = { itemId: after.id };
  const old = await activities.find({ where, sort: ['-at'], offset: SHOWN_ACTIVITIES, limit: 2 * TRIM_EVERY });
  for (const one of old) work.remove(activities, one);
}

/** Reads the fields whose changes are recorded. */
const FIELDS: Readonly<Record<WorkItemField, (item: WorkItemRecord) => unknown>> = {
  title: ({ title }) => title,
  description: ({ description }) => cut(description),
  status: ({ status }) => status,
  priority: ({ priority }) => priority,
  assignee: ({ assignee }) => assignee,
  labels: ({ labels }) => labels,
  parent_id: ({ parentId }) => parentId,
  resource_ids: ({ resourceIds }) => resourceIds,
  estimate: ({ estimate }) => estimate,
  position: ({ position }) => position,
  start_at: ({ startAt }) => startAt,
  due_at: ({ dueAt }) => dueAt,
  external_id: ({ externalId }) => externalId,
};

/** Returns the names of the fields that differ. */
export function changedFields(before: WorkItemRecord, after: WorkItemRecord): WorkItemField[] {
  const whole = { ...FIELDS, description: ({ description }: WorkItemRecord) => description };
  return (Object.entries(whole) as [WorkItemField, (item: WorkItemRecord) => unknown][])
    .filter(([, read]) => JSON.stringify(read(before)) !== JSON.stringify(read(after)))
    .map(([field]) => field);
}

/** Returns the changes with old and new values. Positions mean nothing to people, so they have no values. */
function changesBetween(before: WorkItemRecord, after: WorkItemRecord): StoredChange[] {
  return changedFields(before, after).map((field) => {
    const read = FIELDS[field];
    return field === 'position' ? { field } : { field, from: read(before), to: read(after) };
  });
}

const cut = (text: string): string | undefined => {
  if (text === '') return undefined;
  return text.length <= MAX_TEXT ? text : `${[...text.slice(0, 2 * MAX_TEXT)].slice(0, MAX_TEXT).join('')}…`;
};
