import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type FileState = 'pending_upload' | 'processing' | 'ready' | 'failed' | 'expired';

export interface Fault {
  readonly code: string;
  readonly message: string;
}

/** What is known of a file; its id is that of its node. */
export interface FileRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly status: FileState;
  /** The version that is read; absent until there is one. */
  readonly versionId?: string;
  /** Names the last attempt or version: what its node was told of. */
  readonly revision: string;
  /** Versions that there have been. */
  readonly versions: number;
  /** What was said of the bytes before there were any. */
  readonly saidType: string;
  readonly saidBytes: number;
  /** Why the last upload failed. */
  readonly error?: Fault;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const fileCollection: CollectionSpec<FileRecord> = { name: 'files', indexes: [] };

export type TextState = 'none' | 'pending' | 'done' | 'failed';

/** Bytes that a file has, or has had. */
export interface Version extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly fileId: string;
  /** From 1. */
  readonly number: number;
  /** Another version has taken its place. */
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

/** Bytes in the blob store, and how many versions are made of them. Its id is in their key. */
export interface Blob extends StoredRecord {
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly uses: number;
  /** Nobody uses them any more since then: they are to be deleted. */
  readonly deadAt?: string;
}

export const blobCollection: CollectionSpec<Blob> = { name: 'blobs', indexes: [{ fields: ['deadAt'] }] };

/** Bytes that are to come. Its id is that of the version which they become. */
export interface Upload extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly fileId: string;
  /** The import that waits for it, instead of a file; `fileId` is its id then, too. */
  readonly importId?: string;
  /** The file has bytes already, which stay until these are there. */
  readonly replaces: boolean;
  readonly how: 'single' | 'parts' | 'fetch';
  readonly name: string;
  readonly saidType?: string;
  readonly sizeBytes?: number;
  readonly sha256?: string;
  /** Of an upload in parts. */
  readonly partBytes?: number;
  readonly partCount?: number;
  /** What names the parts in the blob store. */
  readonly partsId?: string;
  /** Where its bytes are put together. */
  readonly blobId: string;
  readonly sourceUrl?: string;
  readonly attempts: number;
  /** When somebody has to look after it: at its parts in a bucket, or to fetch it. A worker holds it until then. */
  readonly lookAt: string;
  readonly expiresAt: string;
  readonly actor: Actor;
  readonly createdAt: string;
}

export const uploadCollection: CollectionSpec<Upload> = {
  name: 'uploads',
  indexes: [{ fields: ['fileId'] }, { fields: ['blobId'] }, { fields: ['lookAt'] }, { fields: ['expiresAt'] }],
};

/**
 * What is being done to a file and its bytes, written before the first of it and deleted with the last: what a
 * crash leaves of it is found by this.
 */
export interface Intent extends StoredRecord {
  readonly fileId: string;
  readonly revision: string;
  /** The bytes that are being put. */
  readonly blobId: string;
  /** The process that does it. */
  readonly process: string;
  /** It is over, or its process is gone, by then. */
  readonly until: string;
}

export const intentCollection: CollectionSpec<Intent> = {
  name: 'intents',
  indexes: [{ fields: ['until'] }, { fields: ['blobId'] }],
};

/** What was read out of a version; its id is the version's. */
export interface TextRecord extends StoredRecord {
  readonly tenant: string;
  readonly text: string;
  /** Where each page begins in it, in UTF-16 units; absent where the file has no pages, or was read before they counted. */
  readonly pageStarts?: readonly number[] | undefined;
}

export const textCollection: CollectionSpec<TextRecord> = { name: 'texts', indexes: [] };

/** What a tenant's files take; its id is the tenant's. */
export interface Usage extends StoredRecord {
  readonly bytes: number;
}

export const usageCollection: CollectionSpec<Usage> = { name: 'usage', indexes: [] };

/** The key that URLs are signed with. */
export interface SigningKey extends StoredRecord {
  readonly secret: string;
}

export const keyCollection: CollectionSpec<SigningKey> = { name: 'signing_keys', indexes: [] };
