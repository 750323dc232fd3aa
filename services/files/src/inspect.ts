import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOB_FOLDER } from './blobs/folder.js';
import { FILES_FOLDER, openBlobStore } from './blobs/open.js';
import { blobKey } from './domain/layout.js';

/** Holds the recorded facts about the bytes of a file's versions. */
interface BlobFacts {
  readonly id: string;
  readonly sizeBytes: number;
}

/** Reads the records of bytes in use while the system may be writing them. */
export interface BlobSource {
  count(): number | Promise<number>;
  /** Returns up to `limit` records with ids below `id`, highest first; from the highest id if it is undefined. */
  below(id: string | undefined, limit: number): readonly BlobFacts[] | Promise<readonly BlobFacts[]>;
  /** Returns whether the record still exists: bytes of files that are deleted meanwhile are not missing. */
  has(id: string): boolean | Promise<boolean>;
}

/** Holds the result of comparing records with the bytes of files. */
export interface BytesFacts {
  readonly blobs: number;
  /** Number of records that were checked in the available time, newest first. */
  readonly checked: number;
  /** Number of records whose bytes are missing or have another size than recorded. */
  readonly missing: number;
  /** Ids of some of these. */
  readonly examples: readonly string[];
}

/** Returns the number of bytes that are stored under a key. */
type SizeOf = (key: string) => Promise<number | undefined>;

const PAGE = 200;
/** Sizes that are requested concurrently. */
const AT_ONCE = 20;
const MAX_EXAMPLES = 10;

/**
 * Compares records with the bytes in the store until `until`, in milliseconds of `performance.now()`. It changes
 * nothing.
 */
export async function inspectBytes(source: BlobSource, sizeOf: SizeOf, until: number): Promise<BytesFacts> {
  const blobs = await source.count();
  const examples: string[] = [];
  let [checked, missing] = [0, 0];
  let last: string | undefined;
  const look = async ({ id, sizeBytes }: BlobFacts): Promise<void> => {
    if ((await sizeOf(blobKey(id))) === sizeBytes || !(await source.has(id))) return;
    missing++;
    if (examples.length < MAX_EXAMPLES) examples.push(id);
  };
  for (;;) {
    const page = await source.below(last, PAGE);
    for (let at = 0; at < page.length; at += AT_ONCE) {
      if (performance.now() > until) return { blobs, checked, missing, examples };
      const some = page.slice(at, at + AT_ONCE);
      await Promise.all(some.map(look));
      checked += some.length;
    }
    last = page.at(-1)?.id;
    if (page.length < PAGE) return { blobs, checked, missing, examples };
  }
}

/** Opens the bytes of a system, in a bucket or in its data directory, for reading sizes only. */
export async function openSizes(
  s3Url: string | undefined,
  dataDir: string,
): Promise<{ readonly sizeOf: SizeOf; close(): Promise<void> }> {
  if (s3Url === undefined) {
    // Opening the store itself would delete what another process is putting.
    const folder = join(dataDir, FILES_FOLDER, BLOB_FOLDER);
    const sizeOf: SizeOf = (key) =>
      stat(join(folder, ...key.split('/'))).then(
        ({ size }) => size,
        () => undefined,
      );
    return { sizeOf, close: async () => {} };
  }
  const store = await openBlobStore({ s3Url, s3PublicUrl: undefined }, dataDir);
  return { sizeOf: store.size, close: store.close };
}
