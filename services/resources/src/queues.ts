import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { deliveryQueue } from '@commonplace/platform/webhooks';
import { treeJobQueue } from './nodes/jobs.js';
import { domainQueue } from './publications/records.js';

export const queues: readonly AnyQueueSpec[] = [treeJobQueue, domainQueue, deliveryQueue('resources')];
