import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { mailQueue } from '@commonplace/platform/mail';
import { creditQueues } from './credits/jobs/index.js';

export const queues: readonly AnyQueueSpec[] = [mailQueue('tenancy'), ...creditQueues];
