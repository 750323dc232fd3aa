import { join } from 'node:path';
import type { IdentifiedStore } from '@commonplace/kit/installation';
import { openFolderInstallation, openFolderStore, openSharedFolderStore } from './folder.js';
import type { BlobStore } from './port.js';

interface BlobSettings {
  readonly s3Url: string | undefined;
  readonly s3PublicUrl: string | undefined;
}

/** Folder in the data directory that holds the bytes of files when no bucket is configured. */
export const FILES_FOLDER = 'files';

/** Opens the bucket that the settings name, or a folder in the data directory if they name none. */
export async function openBlobStore({ s3Url, s3PublicUrl }: BlobSettings, dataDir: string): Promise<BlobStore> {
  if (s3Url === undefined) return openFolderStore(join(dataDir, FILES_FOLDER));
  // The SDK takes a tenth of a second and its memory to load: installations with a folder pay neither.
  const { openS3Store } = await import('./s3.js');
  return openS3Store({ url: s3Url, publicUrl: s3PublicUrl });
}

/** Opens the store for a command while the system is running or stopped. */
export async function openSharedBlobStore(settings: BlobSettings, dataDir: string): Promise<BlobStore> {
  return settings.s3Url === undefined
    ? openSharedFolderStore(join(dataDir, FILES_FOLDER))
    : openBlobStore(settings, dataDir);
}

/** Opens the configured bucket or folder as a store that carries the id of its installation. */
export async function openBlobInstallation(
  { s3Url }: Pick<BlobSettings, 's3Url'>,
  dataDir: string,
): Promise<IdentifiedStore> {
  if (s3Url === undefined) return openFolderInstallation(join(dataDir, FILES_FOLDER));
  const { openS3Installation } = await import('./s3-installation.js');
  return openS3Installation(s3Url);
}

/** Bytes of a part of an archive, which a bucket takes 10,000 of: 625 GiB in all. */
const ARCHIVE_PART_BYTES = 64 * 1024 * 1024;

/** Opens a bucket for archives by its URL, such as one for backups. */
export async function openBucket(url: string): Promise<BlobStore> {
  const { openS3Store } = await import('./s3.js');
  return openS3Store({ url, partBytes: ARCHIVE_PART_BYTES });
}
