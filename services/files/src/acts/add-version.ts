import type { Actor } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Stored } from '../blobs/port.js';
import { fileEvent } from '../events.js';
import { isExtractable } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { FileRecord, Version } from '../stores/records.js';
import { releaseVersion } from './release.js';

/** Bytes that are durable and right, and what they are. */
export interface NewBytes extends Stored {
  /** Of the version that they become. */
  readonly revision: string;
  readonly blobId: string;
  readonly name: string;
  readonly contentType: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly actor: Actor;
}

/** What a file is before it has bytes: its own record, or the facts of one that is new. */
export type FileBefore = Pick<FileRecord, 'id' | 'tenant' | 'workspaceId'> & Partial<FileRecord>;

/** The version that bytes become. */
export function versionOf(file: FileBefore, bytes: NewBytes): Omit<Version, 'version'> {
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

/** Makes bytes the present version of a file, in one unit; older ones than are kept go. */
export async function addVersion(
  parts: Parts,
  work: UnitOfWork,
  file: FileBefore | FileRecord,
  bytes: NewBytes,
): Promise<FileRecord> {
  const version = work.insert(parts.versions, versionOf(file, bytes));
  const { sizeBytes, sha256, blobId } = bytes;
  work.insert(parts.blobs, { id: blobId, sizeBytes, sha256, uses: 1 });
  work.increment(parts.usage, file.tenant, 'bytes', sizeBytes, {});
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

/** Marks the version before as such, and lets go of what is older than versions are kept. */
async function supersede(parts: Parts, work: UnitOfWork, file: FileBefore): Promise<void> {
  if (file.versionId === undefined) return;
  const before = await work.get(parts.versions, file.versionId);
  if (before !== undefined) work.replace(parts.versions, before, { ...before, superseded: true });
  const number = { lte: (file.versions ?? 0) + 1 - parts.settings.versions };
  const old = await parts.versions.find({ where: { fileId: file.id, number }, sort: ['number'], limit: 100 });
  for (const version of old) if (version.id !== file.versionId) await releaseVersion(parts, work, version);
}

/** A new id for bytes. */
export function newBlobId(): string {
  return newId();
}
