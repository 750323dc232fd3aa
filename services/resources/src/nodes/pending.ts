import type { Collection } from '@commonplace/kit/store';
import { allJobs, type TreeJob } from './jobs.js';

/** Maximum age in milliseconds of a process's view of the pending jobs. */
export const PENDING_MAX_AGE_MS = 500;

/**
 * Milliseconds for which a job is known after its end. Records that were read before its end may be resolved after it,
 * and still have the place or state that the job has changed.
 */
export const KEPT_MS = 5_000;

/**
 * All pending jobs that reads take into account, at most half a second old. A job is announced at least that long
 * before its head is written, so that every process knows it by then.
 */
export interface PendingJobs {
  /** Returns the jobs that concern a workspace, with those that have ended a moment ago; usually none. */
  in(workspaceId: string): Promise<readonly TreeJob[]>;
  /** Returns the jobs that concern a workspace and have not ended. */
  unfinished(workspaceId: string): Promise<readonly TreeJob[]>;
  /** Invalidates the cached jobs, after this process has changed them. */
  forget(): void;
}

const NONE: readonly TreeJob[] = [];

interface SeenJob {
  readonly job: TreeJob;
  /** When the job was last pending. */
  readonly seenAt: number;
}

export function createPendingJobs(jobs: Collection<TreeJob>, now: () => number = () => performance.now()): PendingJobs {
  let unfinished: ReadonlyMap<string, readonly TreeJob[]> = new Map();
  let known = unfinished;
  let seen: ReadonlyMap<string, SeenJob> = new Map();
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
    const kept = [...seen].filter(([, { seenAt }]) => seenAt > at - KEPT_MS);
    seen = new Map([...kept, ...found.map((job) => [job.id, { job, seenAt: at }] as const)]);
    unfinished = byWorkspace(found);
    known = byWorkspace([...seen.values()].map(({ job }) => job));
    knownAt = at;
  }

  /** Loads the jobs, unless another caller is doing so: that query may have begun too early, so check the age again. */
  function reload(): Promise<void> {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    async in(workspaceId) {
      const oldest = now() - PENDING_MAX_AGE_MS;
      while (knownAt < oldest) await reload();
      return known.get(workspaceId) ?? NONE;
    },
    async unfinished(workspaceId) {
      const oldest = now() - PENDING_MAX_AGE_MS;
      while (knownAt < oldest) await reload();
      return unfinished.get(workspaceId) ?? NONE;
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
