import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { runQueue } from './runs/records.js';
import { fireQueue, planQueue } from './schedules/records.js';
import { contentTurnQueue } from './triggers/records.js';
import { itemRemovalQueue, runStartQueue } from './work-items/records.js';

/** The queues of this service. */
export const queues: readonly AnyQueueSpec[] = [
  runQueue,
  contentTurnQueue,
  runStartQueue,
  itemRemovalQueue,
  planQueue,
  fireQueue,
];
