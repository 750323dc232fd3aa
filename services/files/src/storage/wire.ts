import type { Actor as Doer } from '@commonplace/kit/auth';
import { type Actor, ActorType } from '@commonplace/proto/api/v1/actor.js';
import { type File, FileStatus } from '@commonplace/proto/files/v1/file.js';
import type { FileRecord, FileState, Version } from './records.js';

export const STATUSES: Record<FileState, FileStatus> = {
  pending_upload: FileStatus.PENDING_UPLOAD,
  processing: FileStatus.PROCESSING,
  ready: FileStatus.READY,
  failed: FileStatus.FAILED,
  expired: FileStatus.EXPIRED,
};

/** Converts a file to its message for clients, with its current version if it has one. */
export function fileMessage(file: FileRecord, version: Version | undefined): File {
  return {
    resourceId: file.id,
    status: STATUSES[file.status],
    contentType: version?.contentType ?? file.saidType,
    sizeBytes: version?.sizeBytes ?? file.saidBytes,
    checksumSha256: version?.sha256,
    // No virus scanner is built in.
    scan: 'skipped',
    textExtraction: version?.text ?? 'none',
    pages: version?.pages,
    width: version?.width,
    height: version?.height,
    versionCount: file.versions,
    error: file.error,
    createdAt: file.createdAt,
    updatedAt: file.updatedAt,
  };
}

const TYPES: Record<Doer['type'], ActorType> = {
  user: ActorType.USER,
  agent: ActorType.AGENT,
  api_key: ActorType.API_KEY,
  automation: ActorType.AUTOMATION,
  import: ActorType.IMPORT,
  system: ActorType.SYSTEM,
};

export function actorMessage({ type, id, name }: Doer): Actor {
  return { type: TYPES[type], id, name };
}
