import { AppError, defineConflict } from '@commonplace/kit/errors';

export const CycleDetected = defineConflict(
  'cycle_detected',
  'The new parent is the work item itself, or is below it.',
);
export const DepthExceeded = defineConflict(
  'depth_exceeded',
  'Work items may be nested at most {max_depth} levels deep.',
);
export const OpenChildren = defineConflict(
  'open_children',
  '{open} work items below are open. Finish them first, or send force: true.',
);

/** Returns the error for a place where repeated insertions have used up the order keys. */
export function noRoomBetween(): AppError {
  const message =
    'Too many work items were inserted one after another at this position. Choose another position first.';
  return new AppError('ABORTED', 'limit_reached', message);
}
