import { invalidField } from '@commonplace/kit/errors';
import type { WorkItemPriority, WorkItemStatus } from '@commonplace/proto/automations/v1/work_item.js';
import type { UpdateWorkItemRequest } from '@commonplace/proto/automations/v1/work_item_service.js';
import type { RequestedPosition } from './positions.js';
import { type ItemPriority, type ItemStatus, NEVER, PRIORITIES, STATUSES, type WorkItemRecord } from './records.js';
import { termsOf } from './search.js';
import { parentKeyOf } from './tree.js';

const nameIn = <T extends string>(value: string, prefix: string, names: readonly T[]): T | undefined =>
  names.find((name) => name === value.slice(prefix.length).toLowerCase());

export const statusOf = (value: WorkItemStatus): ItemStatus | undefined => nameIn(value, 'WORK_ITEM_STATUS_', STATUSES);
export const priorityOf = (value: WorkItemPriority): ItemPriority | undefined =>
  nameIn(value, 'WORK_ITEM_PRIORITY_', PRIORITIES);

type Derived = 'rank' | 'assigneeKey' | 'terms' | 'parentKey' | 'dueKey' | 'dueKeyDown';

/** Returns the fields for lookups and sorting of a work item. */
export function derivedFrom(item: Omit<WorkItemRecord, Derived | 'version'>): Pick<WorkItemRecord, Derived> {
  const { assignee, dueAt, priority } = item;
  return {
    rank: PRIORITIES.indexOf(priority),
    assigneeKey: assignee === undefined ? '' : assigneeKey(assignee.type, assignee.id),
    terms: termsOf(item),
    parentKey: parentKeyOf(item),
    dueKey: dueAt ?? NEVER,
    dueKeyDown: dueAt ?? '',
  };
}

export const assigneeKey = (type: 'user' | 'agent', id: string): string => `${type}:${id}`;

/** Fields of a PATCH that change nothing by themselves. */
const OPTIONS: ReadonlySet<string> = new Set(['force', 'work_item_id']);

/** The fields that a PATCH names. */
export class NamedFields {
  private readonly paths: ReadonlySet<string>;

  constructor({ updateMask = [] }: UpdateWorkItemRequest) {
    this.paths = new Set(updateMask.map((path) => path.split('.')[0] as string));
  }

  has(path: string): boolean {
    return this.paths.has(path);
  }

  get isEmpty(): boolean {
    return [...this.paths].every((path) => OPTIONS.has(path));
  }
}

/** Returns the place that a PATCH names; undefined if it names none. Throws `ambiguous_target`. */
export function requestedPosition({
  position,
  beforeId,
  afterId,
}: UpdateWorkItemRequest): RequestedPosition | undefined {
  const positions: RequestedPosition[] = [
    ...(beforeId === undefined ? [] : [{ before: beforeId }]),
    ...(afterId === undefined ? [] : [{ after: afterId }]),
    ...(position === undefined ? [] : [{ key: position }]),
  ];
  if (positions.length > 1) {
    const param = position === undefined ? 'after_id' : 'position';
    throw invalidField(param, 'ambiguous_target', 'Only one of position, before_id and after_id may be given.');
  }
  return positions[0];
}
