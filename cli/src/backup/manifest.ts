import { createHash } from 'node:crypto';
import { BLOB_FOLDER, FILES_FOLDER, requireKey } from '@commonplace/files/blobs';
import { DATABASE_FILE } from '@commonplace/kit/runtime';
import { z } from 'zod';
import { damaged } from '../exit.js';

/** The form of backups that this version makes, and the newest that it reads. */
export const FORMAT = 1;
export const MANIFEST = 'manifest.json';
/** The SHA-256 of the manifest, beside it. */
export const SEAL = 'manifest.sha256';
/** Without these no credential or secret in the records is of any use. */
export const KEY_FILES = ['secret.key', 'secrets.key'] as const;
/** Before the keys of blobs in the paths of a backup. */
export const BLOBS = `${FILES_FOLDER}/${BLOB_FOLDER}/`;

const count = z.number().int().nonnegative();

const schema = z.object({
  product: z.literal('commonplace'),
  format: z.literal(FORMAT),
  createdAt: z.iso.datetime(),
  /** Records by collection, and events. */
  records: z.record(z.string(), count),
  events: count,
  blobs: count,
  /** Blobs that records name and whose bytes were not to be found when it was made. */
  missingBlobs: z.array(z.string()),
  /** Whether the bytes of files are in it, or in a bucket. */
  bytesOfFiles: z.enum(['included', 'bucket']),
  files: z.array(
    z.object({ path: z.string(), sizeBytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }).readonly(),
  ),
});

/** What is in a backup: every file with its SHA-256, by its path in the data folder. */
export type Manifest = z.infer<typeof schema>;
export type Entry = Manifest['files'][number];

/** Reads a manifest. Throws where it is none, or names a file that no data folder has. */
export function parseManifest(text: string): Manifest {
  const { product, format } = jsonOf(text) as { product?: unknown; format?: unknown };
  if (product !== 'commonplace') throw damaged('this is no backup of Commonplace');
  if (typeof format === 'number' && format > FORMAT) {
    throw damaged(`the backup has format ${format}, and this version reads up to ${FORMAT}: restore with a newer one`);
  }
  const { success, data, error } = schema.safeParse(jsonOf(text));
  if (!success) throw damaged(`the manifest is not as it should be: ${z.prettifyError(error)}`);
  const paths = new Set(data.files.map(({ path }) => path));
  if (paths.size !== data.files.length) throw damaged('the manifest names a file twice');
  for (const path of paths) if (!isPath(path)) throw damaged(`the manifest names ${JSON.stringify(path)}`);
  if (!paths.has(DATABASE_FILE)) throw damaged('there is no database in the backup');
  return data;
}

function jsonOf(text: string): object {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    throw damaged('the manifest is not JSON');
  }
}

/** A path that backups hold: no other is ever read or written. */
function isPath(path: string): boolean {
  if (path === DATABASE_FILE || (KEY_FILES as readonly string[]).includes(path)) return true;
  if (!path.startsWith(BLOBS)) return false;
  try {
    return requireKey(path.slice(BLOBS.length)) !== '';
  } catch {
    return false;
  }
}

export function sha256Of(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}
