import { type AppError, defineError } from '@commonplace/kit/errors';

export const WorkspaceArchived = conflict('workspace_archived', 'The workspace is archived and can only be read.');
export const ScheduleCompleted = conflict('schedule_completed', 'The schedule has ended. Create another one.');
export const LimitReached = conflict('limit_reached', 'There may be no more than {limit} {what}.');

export const MissingTarget = defineError(
  'INVALID_ARGUMENT',
  'missing_target',
  'The request does not say what the schedule starts. Send target, agent_id or automation_id.',
);

function conflict(reason: string, template: string): (details?: Record<string, unknown>) => AppError {
  return defineError('ABORTED', reason, template);
}
