/** The fields of work items whose changes are recorded and reported in `changed_fields`, by their names in the API. */
export const WORK_ITEM_FIELDS = [
  'title',
  'description',
  'status',
  'priority',
  'assignee',
  'labels',
  'parent_id',
  'resource_ids',
  'estimate',
  'position',
  'start_at',
  'due_at',
  'external_id',
] as const;

export type WorkItemField = (typeof WORK_ITEM_FIELDS)[number];
