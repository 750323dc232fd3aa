import { AppError, defineError } from '@commonplace/kit/errors';

export const CycleDetected = defineError(
  'ABORTED',
  'cycle_detected',
  'The new parent is the work item itself, or is below it.',
);
export const DepthExceeded = defineError(
  'ABORTED',
  'depth_exceeded',
  'Work items may be nested {max_depth} levels deep at the most.',
);
export const OpenChildren = defineError(
  'ABORTED',
  'open_children',
  '{open} work items below are open. Finish them first, or send force: true.',
);

export function noUpdateField(): AppError {
  return new AppError('INVALID_ARGUMENT', 'no_update_field', 'There is nothing to change.');
}

/** Returns the error for a place where repeated insertions have used up the order keys. */
export function noRoomBetween(): AppError {
  const message = 'Too many work items were put at this place one after the other. Choose another one first.';
  return new AppError('ABORTED', 'limit_reached', message);
}
