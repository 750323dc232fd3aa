import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/**
 * Work on a subtree that is too large for one request. The head is written at once; until the job
 * is done, reads find out about the others by their parents.
 */
export interface TreeJob extends StoredRecord {
  readonly tenant: string;
  /** Where the subtree stands, or stood before. */
  readonly workspaceIds: readonly string[];
  /** The subtree's head; for `empty` the workspace, for `untag` the tag, for `uncomment` the document. */
  readonly headId: string;
  readonly kind: 'place' | 'trash' | 'restore' | 'purge' | 'empty' | 'untag' | 'uncomment';
  readonly batchId?: string;
  /**
   * The subtree was rewritten with its head; the job looks for what was created below meanwhile. Reads
   * need not know of it.
   */
  readonly sweep?: true;
  /** For `empty`: only what was trashed before then. */
  readonly before?: string;
  readonly actor: Actor;
  readonly createdAt: string;
  /** A worker holds the job until then. */
  readonly leaseUntil: string;
}

export const jobCollection: CollectionSpec<TreeJob> = { name: 'tree_jobs', indexes: [{ fields: ['createdAt'] }] };
