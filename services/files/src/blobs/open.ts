import { join } from 'node:path';
import { openFolderStore } from './folder.js';
import type { BlobStore } from './port.js';

export interface BlobSettings {
  readonly s3Url: string | undefined;
  readonly s3PublicUrl: string | undefined;
}

/** Of the data folder: where the bytes of files are kept, unless a bucket keeps them. */
export const FILES_FOLDER = 'files';

/** Opens the bucket that the settings name, else a folder of the data folder. */
export async function openBlobStore({ s3Url, s3PublicUrl }: BlobSettings, dataDir: string): Promise<BlobStore> {
  if (s3Url === undefined) return openFolderStore(join(dataDir, FILES_FOLDER));
  // The SDK takes a tenth of a second and its memory to load: who keeps files in a folder pays neither.
  const { openS3Store } = await import('./s3.js');
  return openS3Store({ url: s3Url, publicUrl: s3PublicUrl });
}
