import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { mailQueue } from '@commonplace/platform/mail';
import { mentionRunQueue, removalQueue, retentionQueue } from './conversations/records.js';

export const queues: readonly AnyQueueSpec[] = [mailQueue('messaging'), retentionQueue, removalQueue, mentionRunQueue];
