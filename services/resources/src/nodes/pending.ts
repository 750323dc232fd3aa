import type { Collection } from '@commonplace/kit/store';
import { allJobs, type TreeJob } from './jobs.js';

/** Maximum age in milliseconds of a process's view of the pending jobs. */
export const PENDING_MAX_AGE_MS = 500;

/**
 * All pending jobs that reads take into account, at most half a second old. A job is announced at least that long
 * before its head is written, so that every process knows it by then.
 */
export interface PendingJobs {
  /** Returns the pending jobs that concern a workspace; usually none. */
  in(workspaceId: string): Promise<readonly TreeJob[]>;
  /** Invalidates the cached jobs, after this process has changed them. */
  forget(): void;
}

const NONE: readonly TreeJob[] = [];

export function createPendingJobs(jobs: Collection<TreeJob>, now: () => number = () => performance.now()): PendingJobs {
  let known: ReadonlyMap<string, readonly TreeJob[]> = new Map();
  let knownAt = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  let changes = 0;

  async function load(): Promise<void> {
    const at = now();
    const before = changes;
    // Omitting a job would grant access that the job removes.
    const found = await allJobs(jobs, { sweep: { exists: false } });
    // The result may be outdated if this process has changed the jobs during the query.
    if (before !== changes) return;
    known = byWorkspace(found);
    knownAt = at;
  }

  return {
    async in(workspaceId) {
      const oldest = now() - PENDING_MAX_AGE_MS;
      // A query that another caller started may have begun too early for this one: check the age again.
      while (knownAt < oldest) {
        loading ??= load().finally(() => {
          loading = undefined;
        });
        await loading;
      }
      return known.get(workspaceId) ?? NONE;
    },
    forget() {
      changes += 1;
      knownAt = Number.NEGATIVE_INFINITY;
    },
  };
}

function byWorkspace(jobs: readonly TreeJob[]): ReadonlyMap<string, readonly TreeJob[]> {
  const found = new Map<string, TreeJob[]>();
  for (const job of jobs) {
    for (const id of new Set(job.workspaceIds)) push(found, id, job);
  }
  return found;
}

function push(found: Map<string, TreeJob[]>, workspaceId: string, job: TreeJob): void {
  const some = found.get(workspaceId);
  if (some === undefined) found.set(workspaceId, [job]);
  else some.push(job);
}
