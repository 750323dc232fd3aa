import type { Queue } from '@commonplace/kit/jobs';
import type { Collection, Store } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import type { Counters } from './counters.js';
import type { TreeJob } from './jobs.js';
import type { PendingJobs } from './pending.js';
import type { Tree } from './tree.js';

/** Holds the records of the tree. */
export interface NodeParts {
  readonly settings: Settings;
  readonly store: Store;
  readonly tree: Tree;
  readonly counters: Counters;
  readonly jobs: Collection<TreeJob>;
  readonly pending: PendingJobs;
  readonly runner: Pick<Queue<TreeJob>, 'prompt'>;
}
