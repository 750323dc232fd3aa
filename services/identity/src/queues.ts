import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { mailQueue } from '@commonplace/kit/mail';

export const queues: readonly AnyQueueSpec[] = [mailQueue('identity')];
