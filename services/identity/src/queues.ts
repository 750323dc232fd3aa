import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { mailQueue } from '@commonplace/platform/mail';

export const queues: readonly AnyQueueSpec[] = [mailQueue('identity')];
