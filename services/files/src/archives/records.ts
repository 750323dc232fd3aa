import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type ArchiveState = 'queued' | 'running' | 'completed' | 'completed_with_errors' | 'failed' | 'expired';
export type Format = 'native' | 'markdown' | 'html';

export interface Include {
  readonly files: boolean;
  readonly comments: boolean;
  readonly snapshots: boolean;
  readonly permissions: boolean;
}

export interface ArchiveFault {
  readonly resourceId: string;
  readonly code: string;
  readonly message: string;
}

/** Stores an export of a workspace and its progress. */
export interface ArchiveRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** The workspace's id while the export is active: the unique index allows one active export per workspace. */
  readonly activeKey?: string | undefined;
  /** The user whose rights the export has, and the Org's id, which is empty for a Personal workspace. */
  readonly userId: string;
  readonly orgId: string;
  readonly format: Format;
  readonly include: Include;
  /** The workspace as the manifest shows it. */
  readonly workspace: Readonly<Record<string, unknown>>;
  readonly status: ArchiveState;
  readonly attempt: number;
  readonly total: number;
  /** Number of resources in the archive, of files in it, and of those that could not be exported. */
  readonly resources: number;
  readonly files: number;
  readonly failed: number;
  readonly faults: readonly ArchiveFault[];
  /** The last resource that the stored parts contain. */
  readonly cursor: string;
  /** Number of committed steps. */
  readonly steps: number;
  /** Displayed progress, which may be ahead of the last step. */
  readonly shown?: { readonly resources: number; readonly failed: number; readonly files: number } | undefined;
  /** Id of the multipart upload in the blob store, the number of its parts, their bytes, and the entries in them. */
  readonly upload?: string | undefined;
  readonly parts: number;
  readonly offset: number;
  readonly entries: number;
  /** Size of the whole archive in bytes, set once all of its parts are put. */
  readonly wholeBytes?: number | undefined;
  readonly sizeBytes?: number;
  /** Bytes that are counted against the quota, from before they are put until after they are deleted. */
  readonly heldBytes?: number | undefined;
  readonly sha256?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly expiresAt?: string | undefined;
  /** When the bytes were due to be deleted. */
  readonly expiredAt?: string;
  /** End of the lease of the worker that runs it, as long as it is active. */
  readonly leaseUntil?: string | undefined;
}

export const archiveCollection: CollectionSpec<ArchiveRecord> = {
  name: 'archives',
  indexes: [
    { fields: ['activeKey'], unique: true },
    { fields: ['workspaceId', 'createdAt'] },
    { fields: ['leaseUntil'], sparse: true },
    { fields: ['expiresAt'], sparse: true },
    DEAD_INDEX,
  ],
};

export const archiveQueue: QueueSpec<ArchiveRecord> = {
  name: 'files.archives',
  collection: archiveCollection,
  due: 'leaseUntil',
  describe: ({ format, workspaceId }) => `${format} export of ${workspaceId}`,
};

/** Stores the directory of the entries that one step of an export has written. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly archiveId: string;
  /** Counts from 1. */
  readonly number: number;
  /** ZIP directory records, base64-encoded. */
  readonly directory: string;
  /** Path of the entry that lists the checksums of the others, and its own checksum. */
  readonly sums: string;
  readonly sha256: string;
}

export const stepCollection: CollectionSpec<StepRecord> = {
  name: 'archive_steps',
  indexes: [{ fields: ['archiveId', 'number'] }],
};

export function archiveKey(id: string): string {
  return `archives/${id}.zip`;
}

const ACTIVE: ReadonlySet<ArchiveState> = new Set(['queued', 'running']);

export function isActive({ status }: Pick<ArchiveRecord, 'status'>): boolean {
  return ACTIVE.has(status);
}
