import { valuesByName } from '@commonplace/platform/enums';
import { type File, FileStatus } from '@commonplace/proto/files/v1/file.js';
import type { FileRecord, FileState, Version } from './records.js';

export const STATUSES: Record<FileState, FileStatus> = valuesByName(FileStatus);

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
