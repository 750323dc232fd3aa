import type { Actor } from '@commonplace/kit/auth';
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

/** An export of a workspace, and how far it is. */
export interface ArchiveRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** The same while it is active: a workspace has one export at a time. */
  readonly activeKey?: string | undefined;
  /** Whose rights it has; an Org's id, or empty for a Personal workspace. */
  readonly userId: string;
  readonly orgId: string;
  readonly format: Format;
  readonly include: Include;
  /** The workspace as it goes into the manifest. */
  readonly workspace: Readonly<Record<string, unknown>>;
  readonly status: ArchiveState;
  readonly attempt: number;
  /** Tries one after the other that came to nothing. */
  readonly tries: number;
  readonly total: number;
  /** Resources that are in it, and what could not be. */
  readonly resources: number;
  readonly files: number;
  readonly failed: number;
  readonly faults: readonly ArchiveFault[];
  /** The last resource that is in the parts which are put. */
  readonly cursor: string;
  /** Steps that are committed. */
  readonly steps: number;
  /** What is shown of the progress, ahead of the last step. */
  readonly shown?: { readonly resources: number; readonly failed: number; readonly files: number } | undefined;
  /** What names the parts in the blob store, how many there are, their bytes, and the entries in them. */
  readonly upload?: string | undefined;
  readonly parts: number;
  readonly offset: number;
  readonly entries: number;
  readonly sizeBytes?: number;
  readonly sha256?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly expiresAt?: string | undefined;
  /** When its bytes were deleted. */
  readonly expiredAt?: string;
  /** A worker holds it until then, as long as it is active. */
  readonly leaseUntil?: string | undefined;
}

export const archiveCollection: CollectionSpec<ArchiveRecord> = {
  name: 'archives',
  indexes: [
    { fields: ['activeKey'], unique: true },
    { fields: ['workspaceId', 'createdAt'] },
    { fields: ['leaseUntil'], sparse: true },
    { fields: ['expiresAt'], sparse: true },
  ],
};

/** The directory of the entries that one step of an export has written. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly archiveId: string;
  /** From 1. */
  readonly number: number;
  /** In base64. */
  readonly directory: string;
  /** The entry that lists the checksums of the others, and its own. */
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
