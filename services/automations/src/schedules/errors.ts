import { defineConflict, defineInvalid } from '@commonplace/kit/errors';

export const ScheduleCompleted = defineConflict('schedule_completed', 'The schedule has ended. Create another one.');

export const MissingTarget = defineInvalid(
  'missing_target',
  'The request does not say what the schedule starts. Send target, agent_id or automation_id.',
);
