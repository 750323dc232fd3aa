import type { Actor, Caller } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { GrantTerms } from '../acts/copy-grants.js';

/**
 * Work on a subtree that is too large for one request. The head is written at once; until the job
 * is done, reads find out about the others by their parents.
 */
export interface TreeJob extends StoredRecord {
  readonly tenant: string;
  /** Where the subtree stands, or stood before. */
  readonly workspaceIds: readonly string[];
  /** The subtree's head; for `empty` the workspace, for `untag` the tag, for `uncomment` the document, for `unform` the form, for `copy` the copy's; for `build` and `clear` the template, for `apply` the workspace. */
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
   * The subtree was rewritten with its head; the job looks for what was created below meanwhile. Reads
   * need not know of it.
   */
  readonly sweep?: true;
  /** For `empty`: only what was trashed before then. */
  readonly before?: string;
  /** For `copy`, `build` and `apply`: how far it is. */
  readonly copy?: CopyProgress;
  /** Of a `build`: how often it has failed. */
  readonly failures?: number;
  readonly actor: Actor;
  /** The trace of the request that made it. */
  readonly traceparent?: string | undefined;
  readonly createdAt: string;
  /** A worker holds the job until then. */
  readonly leaseUntil: string;
}

/** The pieces of a copy are under the job's id, of which the ids of the copies are derived as well. */
export interface CopyProgress {
  /** The head of what is copied; for `build` a workspace, for `apply` a template. */
  readonly sourceId: string;
  readonly pieces: number;
  /** Pieces that are copied. */
  readonly done: number;
  /** Who reads the sources; absent where they do so by a link, which is not kept. */
  readonly reader?: Caller | undefined;
  readonly withComments?: boolean;
  /** Where copies of what stands at the top of the source stand, if that is a workspace or a template. */
  readonly root?: { readonly id: string; readonly orgId: string | null };
  readonly formOnly?: boolean;
  readonly grants?: GrantTerms | undefined;
}

export const jobCollection: CollectionSpec<TreeJob> = { name: 'tree_jobs', indexes: [{ fields: ['createdAt'] }] };
