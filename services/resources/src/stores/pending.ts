import type { Collection } from '@commonplace/kit/store';
import type { TreeJob } from './jobs.js';

/** Milliseconds that a process may go by what it knew of pending jobs. */
export const PENDING_MAX_AGE_MS = 500;
/** More jobs at once are not looked at; their requests are refused until there is room. */
export const MAX_PENDING = 200;

/**
 * The jobs that are pending, as known within the last half second. A job is announced that long
 * before its head is written, so that by then every process resolves through it.
 */
export interface PendingJobs {
  /** Those that concern a workspace; mostly none. */
  in(workspaceId: string): Promise<readonly TreeJob[]>;
  /** Forgets what is known, after this process has changed it. */
  forget(): void;
}

export function createPendingJobs(jobs: Collection<TreeJob>, now: () => number = () => performance.now()): PendingJobs {
  let known: readonly TreeJob[] = [];
  let knownAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const at = now();
    const found = await jobs.find({
      where: { createdAt: { gt: '' }, sweep: { exists: false } },
      sort: ['createdAt'],
      limit: MAX_PENDING,
    });
    known = found;
    knownAt = at;
  }

  return {
    async in(workspaceId) {
      if (now() - knownAt > PENDING_MAX_AGE_MS) {
        asking ??= ask().finally(() => {
          asking = undefined;
        });
        await asking;
      }
      return known.length === 0 ? known : known.filter((job) => job.workspaceIds.includes(workspaceId));
    },
    forget() {
      knownAt = Number.NEGATIVE_INFINITY;
    },
  };
}
