import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { rebuildQueue } from './upkeep/rebuild-requests.js';

export { readRebuildRequest, requestRebuild } from './upkeep/rebuild-requests.js';

export const queues: readonly AnyQueueSpec[] = [rebuildQueue];
