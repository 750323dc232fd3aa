import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Node, NodeType } from '../domain/node.js';

export type SnapshotReason = 'manual' | 'auto' | 'before_replace' | 'before_restore' | 'import' | 'agent_run';

/** A saved state of a node's content. The content itself is stored by its content kind. */
export interface SnapshotRecord extends StoredRecord {
  readonly tenant: string;
  readonly resourceId: string;
  readonly type: NodeType;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly reason: SnapshotReason;
  /** Whether the snapshot was made automatically; automatic snapshots expire. */
  readonly automatic: boolean;
  readonly contentVersion: number;
  readonly sizeBytes: number;
  readonly hash: string;
  /** Who wrote the saved content, and when. */
  readonly written: { readonly by: Actor; readonly at: string };
  readonly createdBy: Actor;
  /** The person for whom a key or an agent created it; absent in records of earlier versions. */
  readonly createdForId?: string | undefined;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
}

export const snapshotCollection: CollectionSpec<SnapshotRecord> = {
  name: 'snapshots',
  indexes: [
    { fields: ['resourceId', 'createdAt', 'contentVersion'] },
    { fields: ['resourceId', 'automatic', 'createdAt', 'contentVersion'] },
    { fields: ['resourceId', 'reason', 'createdAt', 'contentVersion'] },
    { fields: ['resourceId', 'contentVersion'] },
    { fields: ['expiresAt'] },
    { fields: ['tenant', 'sizeBytes'] },
  ],
};

/** Sort order of snapshots: newest first; those of the same moment by content version. */
export const NEWEST_FIRST = ['-createdAt', '-contentVersion'] as const;

type Snapshots = Collection<SnapshotRecord>;

export async function newestSnapshot(snapshots: Snapshots, resourceId: string): Promise<SnapshotRecord | undefined> {
  const [newest] = await snapshots.find({ where: { resourceId }, sort: NEWEST_FIRST, limit: 1 });
  return newest;
}

export async function newestAutomatic(snapshots: Snapshots, resourceId: string): Promise<SnapshotRecord | undefined> {
  const where = { resourceId, automatic: true } as const;
  const [newest] = await snapshots.find({ where, sort: NEWEST_FIRST, limit: 1 });
  return newest;
}

/** Returns the snapshot that holds a version of a node's content. */
export async function snapshotOfVersion(
  snapshots: Snapshots,
  resourceId: string,
  contentVersion: number,
): Promise<SnapshotRecord | undefined> {
  const [found] = await snapshots.find({ where: { resourceId, contentVersion }, limit: 1 });
  return found;
}

/** Returns a snapshot that holds the present content of a node and does not expire. */
export async function lastingSnapshot(
  snapshots: Snapshots,
  { id: resourceId, contentVersion }: Pick<Node, 'id' | 'contentVersion'>,
): Promise<SnapshotRecord | undefined> {
  const where = { resourceId, contentVersion, expiresAt: { exists: false } } as const;
  const [found] = await snapshots.find({ where, limit: 1 });
  return found;
}
