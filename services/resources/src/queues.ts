import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { deliveryQueue } from '@commonplace/platform/webhooks';
import { fileAttemptQueue } from './forms/attempts.js';
import { treeJobQueue } from './nodes/jobs.js';
import { domainQueue } from './publications/records.js';

export const queues: readonly AnyQueueSpec[] = [
  treeJobQueue,
  fileAttemptQueue,
  domainQueue,
  deliveryQueue('resources'),
];
