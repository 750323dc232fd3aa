import type { Caller } from '@commonplace/kit/auth';
import type { WorkItemRecord } from './records.js';

/**
 * Returns the people to notify that a work item was assigned to them. A person is not notified of their own action, but
 * is notified of those of an agent or an automation in their name.
 */
export function newlyAssigned(
  before: Pick<WorkItemRecord, 'assignee'> | undefined,
  { assignee }: Pick<WorkItemRecord, 'assignee'>,
  { userId, agent, automation }: Caller,
): string[] {
  if (assignee?.type !== 'user' || isSame(before?.assignee, assignee)) return [];
  const isSelfAssigned = assignee.id === userId && agent === undefined && automation === undefined;
  return isSelfAssigned ? [] : [assignee.id];
}

export function isSame(one: WorkItemRecord['assignee'], other: WorkItemRecord['assignee']): boolean {
  return one?.type === other?.type && one?.id === other?.id;
}
