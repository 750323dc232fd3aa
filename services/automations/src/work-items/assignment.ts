import type { Caller } from '@commonplace/kit/auth';
import type { WorkItemRecord } from './records.js';

/**
 * Returns the people who are notified that a work item was assigned to them. Nobody is told of what they have done
 * themselves; of what an agent or an automation does in their name they are.
 */
export function newlyAssigned(
  before: Pick<WorkItemRecord, 'assignee'> | undefined,
  { assignee }: Pick<WorkItemRecord, 'assignee'>,
  { userId, agent, automation }: Caller,
): string[] {
  if (assignee?.type !== 'user' || isSame(before?.assignee, assignee)) return [];
  const isOwnDoing = assignee.id === userId && agent === undefined && automation === undefined;
  return isOwnDoing ? [] : [assignee.id];
}

export function isSame(one: WorkItemRecord['assignee'], other: WorkItemRecord['assignee']): boolean {
  return one?.type === other?.type && one?.id === other?.id;
}
