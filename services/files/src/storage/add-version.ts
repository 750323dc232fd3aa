import type { Actor } from '@commonplace/kit/auth';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { StoredBytes } from '../blobs/port.js';
import { fileEvent } from '../events.js';
import { isExtractable } from '../media/index.js';
import type { StorageParts } from './parts.js';
import { settleBytes } from './quota.js';
import type { FileRecord, Version } from './records.js';
import { releaseVersion } from './release.js';

/** Describes bytes that are stored durably and have passed verification. */
export interface NewBytes extends StoredBytes {
  /** Id of the version that these bytes become. */
  readonly revision: string;
  readonly blobId: string;
  readonly name: string;
  readonly contentType: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly actor: Actor;
}

/** Holds a file before its bytes arrive: its existing record, or the ids of a file that is being created. */
export type FileBefore = Pick<FileRecord, 'id' | 'tenant' | 'workspaceId'> & Partial<FileRecord>;

/** Builds the record of the version that `bytes` become. */
function versionOf(file: FileBefore, bytes: NewBytes): Omit<Version, 'version'> {
  return {
    id: bytes.revision,
    tenant: file.tenant,
    workspaceId: file.workspaceId,
    fileId: file.id,
    number: (file.versions ?? 0) + 1,
    superseded: false,
    blobId: bytes.blobId,
    name: bytes.name,
    contentType: bytes.contentType,
    sizeBytes: bytes.sizeBytes,
    sha256: bytes.sha256,
    width: bytes.width,
    height: bytes.height,
    text: isExtractable(bytes.contentType) ? 'pending' : 'none',
    createdBy: bytes.actor,
    createdAt: new Date().toISOString(),
  };
}

/**
 * Makes `bytes` the current version of a file within `work` and returns the new file record. Releases versions beyond
 * the number that is kept. `reserved` is the number of bytes that are already counted against the quota. Throws
 * `storage_quota_exceeded`.
 */
export async function addVersion(
  parts: StorageParts,
  work: UnitOfWork,
  file: FileBefore | FileRecord,
  bytes: NewBytes,
  reserved = 0,
): Promise<FileRecord> {
  const version = work.insert(parts.versions, versionOf(file, bytes));
  const { sizeBytes, sha256, blobId } = bytes;
  work.insert(parts.blobs, { id: blobId, sizeBytes, sha256, uses: 1 });
  await settleBytes(parts, work, { tenant: file.tenant, account: 'files', bytes: sizeBytes }, reserved);
  await supersede(parts, work, file);
  const { error: _, ...before } = file;
  const after = {
    ...before,
    status: 'ready',
    versionId: version.id,
    revision: version.id,
    versions: version.number,
    saidType: version.contentType,
    saidBytes: version.sizeBytes,
    createdAt: file.createdAt ?? version.createdAt,
    updatedAt: version.createdAt,
  } as const;
  const { resourceId, workspaceId } = { resourceId: file.id, workspaceId: file.workspaceId };
  work.publish(fileEvent('ready', { resourceId, workspaceId, revision: version.id, tenant: file.tenant }));
  return file.version === undefined
    ? work.insert(parts.files, after)
    : work.replace(parts.files, file as FileRecord, after);
}

/** Marks the previous version as superseded and releases versions beyond the number that is kept. */
async function supersede(parts: StorageParts, work: UnitOfWork, file: FileBefore): Promise<void> {
  if (file.versionId === undefined) return;
  const before = await work.get(parts.versions, file.versionId);
  if (before !== undefined) work.replace(parts.versions, before, { ...before, superseded: true });
  const number = { lte: (file.versions ?? 0) + 1 - parts.settings.fileVersions };
  const old = await parts.versions.find({ where: { fileId: file.id, number }, sort: ['number'], limit: 100 });
  for (const version of old) if (version.id !== file.versionId) await releaseVersion(parts, work, version);
}
