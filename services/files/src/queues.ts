import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { archiveQueue } from './archives/records.js';
import { importQueue, removalQueue } from './imports/stores/records.js';
import { uploadQueue } from './storage/records.js';

/** The queues of this service. */
export const queues: readonly AnyQueueSpec[] = [uploadQueue, archiveQueue, importQueue, removalQueue];
