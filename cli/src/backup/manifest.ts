import { createHash } from 'node:crypto';
import { BLOB_FOLDER, FILES_FOLDER, requireKey } from '@commonplace/files/blobs';
import { KEY_FILES as KEYS } from '@commonplace/kit/installation';
import { DATABASE_FILE } from '@commonplace/platform/runtime';
import { z } from 'zod';
import { damaged } from '../exit.js';

/** The backup format that this version writes, and the newest that it reads. */
export const FORMAT = 1;
export const MANIFEST = 'manifest.json';
/** File with the SHA-256 of the manifest. */
export const SEAL = 'manifest.sha256';
/** Key files. Without them the encrypted secrets and hashed credentials of the records are useless. */
export const KEY_FILES = Object.values(KEYS);
/** Prefix of blob keys in the paths of a backup. */
export const BLOBS = `${FILES_FOLDER}/${BLOB_FOLDER}/`;

const count = z.number().int().nonnegative();

const schema = z.object({
  product: z.literal('commonplace'),
  format: z.literal(FORMAT),
  createdAt: z.iso.datetime(),
  /** Number of records by collection. */
  records: z.record(z.string(), count),
  events: count,
  blobs: count,
  /** Keys of blobs that records name but whose bytes were missing at the time of the backup. */
  missingBlobs: z.array(z.string()),
  /** Whether the backup contains the bytes of files, or they are only in a bucket. */
  bytesOfFiles: z.enum(['included', 'bucket']),
  files: z.array(
    z.object({ path: z.string(), sizeBytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }).readonly(),
  ),
});

/** The contents of a backup: every file with its SHA-256, by its path in the data folder. */
export type Manifest = z.infer<typeof schema>;
export type Entry = Manifest['files'][number];

/** Parses a manifest. Throws if it is invalid, or names a path that does not exist in data folders. */
export function parseManifest(text: string): Manifest {
  const { product, format } = jsonOf(text) as { product?: unknown; format?: unknown };
  if (product !== 'commonplace') throw damaged('this is not a backup of Commonplace');
  if (typeof format === 'number' && format > FORMAT) {
    throw damaged(
      `the backup has format ${format}, but this version reads formats up to ${FORMAT}: restore with a newer version`,
    );
  }
  const { success, data, error } = schema.safeParse(jsonOf(text));
  if (!success) throw damaged(`the manifest is invalid: ${z.prettifyError(error)}`);
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

/** Returns whether a backup may contain a path. No other path is ever read or written. */
function isPath(path: string): boolean {
  if (path === DATABASE_FILE || KEY_FILES.some((name) => name === path)) return true;
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
