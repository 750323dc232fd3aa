import type { Actor, Caller } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { Collection, CollectionSpec, Where } from '@commonplace/kit/store';
import type { Copier, GrantTerms } from '../domain/grant.js';

/**
 * Work on a subtree that is too large for one request. The request writes the head at once; until the job has finished,
 * reads derive the place and state of the other nodes from their parents.
 */
export interface TreeJob extends JobRecord {
  readonly tenant: string;
  /** The workspaces that the subtree is in and, for a move, was in before. */
  readonly workspaceIds: readonly string[];
  /**
   * Id of the subtree's head. For `empty` the id of the workspace, for `untag` of the tag, for `uncomment` of the
   * document, for `unform` of the form, for `copy` of the copy; for `build` and `clear` of the template, for `apply` of
   * the workspace.
   */
  readonly headId: string;
  readonly kind:
    | 'place'
    | 'trash'
    | 'restore'
    | 'purge'
    | 'empty'
    | 'untag'
    | 'uncomment'
    | 'unform'
    | 'copy'
    | 'build'
    | 'apply'
    | 'clear';
  readonly batchId?: string;
  /**
   * The request has already rewritten the subtree; the job only looks for nodes created below meanwhile. Reads ignore
   * it.
   */
  readonly sweep?: true;
  /** For `empty`: only nodes that were trashed before this time are purged. */
  readonly before?: string;
  /** For `copy`, `build` and `apply`: the progress of the copy. */
  readonly copy?: CopyProgress;
  /** For `apply`: what was copied is being deleted, because the workspace was not created in time. */
  readonly discards?: true | undefined;
  /** Number of resources that the job will create in a workspace; the quota counts them until the job ends. */
  readonly reserved?: { readonly workspaceId: string; readonly resources: number } | undefined;
  readonly actor: Actor;
  /** The person for whom `actor` works if that is somebody else; absent in jobs of earlier versions. */
  readonly personId?: string | undefined;
  readonly createdAt: string;
  /** When the job becomes due; while a worker holds it, the end of the lease. */
  readonly leaseUntil: string;
}

/**
 * Progress of a copy. Its pieces are stored under the job's id, and the ids of the copies are derived from it as well.
 */
export interface CopyProgress {
  /** Id of the head of the source; for `build` the id of a workspace, for `apply` of a template. */
  readonly sourceId: string;
  readonly pieces: number;
  /** Number of pieces that are copied. */
  readonly done: number;
  /**
   * The caller whose access decides what is read; absent if they read the source by a share link, which is not stored.
   */
  readonly reader?: Caller | undefined;
  readonly withComments?: boolean;
  /** Workspace or template to whose root the top-level nodes of the source are copied. */
  readonly root?: { readonly id: string; readonly orgId: string | null };
  readonly formOnly?: boolean;
  readonly grants?: GrantTerms | undefined;
  /** Absent in jobs of earlier versions, which restrict no copy. */
  readonly copier?: Copier | undefined;
}

export const jobCollection: CollectionSpec<TreeJob> = {
  name: 'tree_jobs',
  indexes: [{ fields: ['createdAt'] }, { fields: ['leaseUntil'] }, DEAD_INDEX],
};

/** Tenant and workspaces of nodes that are purged. */
export type PlaceOfPurge = Pick<TreeJob, 'tenant' | 'workspaceIds'>;

/** Kinds of jobs that reads of the tree take into account until the job has finished. */
const READ_THROUGH: ReadonlySet<TreeJob['kind']> = new Set(['place', 'trash', 'restore', 'purge', 'empty', 'untag']);

export const treeJobQueue: QueueSpec<TreeJob> = {
  name: 'resources.tree',
  collection: jobCollection,
  due: 'leaseUntil',
  describe: ({ kind, headId, workspaceIds }) => `${kind} ${headId} in ${workspaceIds.join(', ')}`,
  keptBecause: ({ kind }) => (READ_THROUGH.has(kind) ? 'reads of the tree depend on it until it has ended' : undefined),
};

/** Number of jobs that one query reads. */
const PAGE = 500;

/** Returns all jobs that meet a condition, oldest first. */
export async function allJobs(jobs: Collection<TreeJob>, condition: Where<TreeJob>): Promise<TreeJob[]> {
  const where = { createdAt: { gt: '' }, ...condition };
  const found: TreeJob[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? {} : { after: [last.createdAt, last.id] };
    const page = await jobs.find({ where, sort: ['createdAt'], limit: PAGE, ...after });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
