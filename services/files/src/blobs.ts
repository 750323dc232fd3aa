// What the operator’s commands (`@commonplace/files/blobs`) read of stored bytes and of the records that name them.
export { BLOB_FOLDER } from './blobs/folder.js';
export { FILES_FOLDER, openBlobInstallation, openBlobStore, openBucket, openSharedBlobStore } from './blobs/open.js';
export { type BlobStore, type ListedBlob, requireKey } from './blobs/port.js';
export { parseTrashKey } from './domain/layout.js';
export { isKnown, type KeyRecords, openKeyRecords, usedKeys } from './storage/known.js';
export { type HeldSweep, readSweep, type SweepRecord, saveSweep, sweepCollection } from './storage/sweep.js';
