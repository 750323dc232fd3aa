import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type FileState = 'pending_upload' | 'processing' | 'ready' | 'failed' | 'expired';

export interface Fault {
  readonly code: string;
  readonly message: string;
}

/** Stores the facts of a file; its id is that of its node. */
export interface FileRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly status: FileState;
  /** Id of the current version; absent until there is one. */
  readonly versionId?: string;
  /** Id of the latest upload or version, which is reported to the node. */
  readonly revision: string;
  /** Number of versions so far. */
  readonly versions: number;
  /** Content type and size that were announced before there were any bytes. */
  readonly saidType: string;
  readonly saidBytes: number;
  /** Why the last upload failed. */
  readonly error?: Fault;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const fileCollection: CollectionSpec<FileRecord> = { name: 'files', indexes: [] };

type TextState = 'none' | 'pending' | 'done' | 'failed';

/** Stores a current or former version of a file's bytes. */
export interface Version extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly fileId: string;
  /** Counts from 1. */
  readonly number: number;
  /** Whether another version has replaced it. */
  readonly superseded: boolean;
  readonly blobId: string;
  readonly name: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly pages?: number;
  readonly text: TextState;
  readonly createdBy: Actor;
  readonly createdAt: string;
}

export const versionCollection: CollectionSpec<Version> = {
  name: 'versions',
  indexes: [
    { fields: ['fileId', 'number'] },
    { fields: ['text', 'createdAt'] },
    { fields: ['workspaceId', 'superseded', 'sizeBytes'] },
  ],
};

/** Stores the facts of bytes in the blob store and how many versions use them. Its id is part of their key. */
export interface Blob extends StoredRecord {
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly uses: number;
  /** Since when nothing uses them, so that they are to be deleted. */
  readonly deadAt?: string;
}

export const blobCollection: CollectionSpec<Blob> = { name: 'blobs', indexes: [{ fields: ['deadAt'] }] };

/** Describes bytes of a tenant's quota that are counted before they are stored. */
export interface Reservation {
  readonly tenant: string;
  /** What they are counted as: bytes of files, of import sources, or of exports. The last two share a limit. */
  readonly account: 'files' | 'sources' | 'archives';
  readonly bytes: number;
}

/** Stores an upload that is in progress. Its id is that of the version that its bytes become. */
export interface Upload extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly fileId: string;
  /** Id of the import that waits for it instead of a file; `fileId` has the same value then. */
  readonly importId?: string;
  /** Whether the file has bytes already, which stay until the new ones have arrived. */
  readonly replaces: boolean;
  readonly how: 'single' | 'parts' | 'fetch';
  readonly name: string;
  readonly saidType?: string;
  readonly sizeBytes?: number;
  readonly sha256?: string;
  /** Layout of an upload in parts. */
  readonly partBytes?: number;
  readonly partCount?: number;
  /** Id of the multipart upload in the blob store. */
  readonly partsId?: string;
  /** Id of the blob that its bytes are assembled into. */
  readonly blobId: string;
  readonly sourceUrl?: string;
  /** Released when the upload ends without becoming a version. */
  readonly reserved?: Reservation | undefined;
  /** How often a worker has claimed it. */
  readonly attempts: number;
  /** How often its source was not available; 0 when absent. */
  readonly sourceFailures?: number;
  /** When it is due to be polled in the bucket or fetched, or the end of a worker's lease. */
  readonly lookAt: string;
  readonly expiresAt: string;
  readonly actor: Actor;
  /** Person who began it; absent if they used a share link, and in uploads that began before this was recorded. */
  readonly userId?: string;
  readonly createdAt: string;
}

export const uploadCollection: CollectionSpec<Upload> = {
  name: 'uploads',
  indexes: [
    { fields: ['fileId'] },
    { fields: ['blobId'] },
    { fields: ['lookAt'] },
    { fields: ['expiresAt'] },
    DEAD_INDEX,
  ],
};

export const uploadQueue: QueueSpec<Upload> = {
  name: 'files.uploads',
  collection: uploadCollection,
  due: 'lookAt',
  describe: ({ how, fileId, tenant }) => `${how} upload of ${fileId} in ${tenant}`,
  keptBecause: () => 'its reserved bytes are released when it expires',
};

/**
 * Records what a completed upload has received, for as long as its URLs are valid: a client that missed the answer puts
 * the same bytes again and gets the same answer. Its id is that of the upload.
 */
export interface Receipt extends StoredRecord {
  readonly sizeBytes: number;
  readonly sha256: string;
  /** File that the bytes became a version of, or import that received them. */
  readonly resourceId: string;
  readonly blobId: string;
  /** Layout of an upload in parts. */
  readonly partBytes?: number | undefined;
  readonly partCount?: number | undefined;
  readonly expiresAt: string;
}

export const receiptCollection: CollectionSpec<Receipt> = {
  name: 'receipts',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/**
 * Records an operation on a file and its bytes. It is written before the first step and deleted after the last, so that
 * the remains of a crash can be found.
 */
export interface Intent extends StoredRecord {
  readonly fileId: string;
  readonly revision: string;
  /** Id of the bytes that are being stored. */
  readonly blobId: string;
  /** Released when the attempt ends without having used it. */
  readonly reserved?: Reservation | undefined;
  /** Id of the process that runs it. */
  readonly process: string;
  /** When it is over, or its process is gone. */
  readonly until: string;
}

export const intentCollection: CollectionSpec<Intent> = {
  name: 'intents',
  indexes: [{ fields: ['until'] }, { fields: ['blobId'] }],
};

/** Stores the extracted text of a version; its id is the version's. */
export interface TextRecord extends StoredRecord {
  readonly tenant: string;
  readonly text: string;
  /**
   * Offset of each page in UTF-16 units; absent when the file has no pages, or was extracted before pages were
   * recorded.
   */
  readonly pageStarts?: readonly number[] | undefined;
}

export const textCollection: CollectionSpec<TextRecord> = { name: 'texts', indexes: [] };

/**
 * Counts the bytes that a tenant's files use, with those that are reserved; its id is the tenant's. Temporary bytes
 * (sources of imports, exports) are counted under `<tenant>:sources`.
 */
export interface Usage extends StoredRecord {
  readonly bytes: number;
}

export const usageCollection: CollectionSpec<Usage> = { name: 'usage', indexes: [] };

/** Stores the key that signs URLs. */
export interface SigningKey extends StoredRecord {
  readonly secret: string;
}

export const keyCollection: CollectionSpec<SigningKey> = { name: 'signing_keys', indexes: [] };
