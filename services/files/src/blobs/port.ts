import { AppError } from '@commonplace/kit/errors';
import { counter } from '@commonplace/kit/telemetry';

/** Describes stored bytes: their number, and their SHA-256 in lower-case hexadecimal. */
export interface StoredBytes {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Describes what bytes have to be; a put of other bytes rejects with `WrongBytes` and leaves nothing. */
export interface ExpectedBytes {
  readonly sizeBytes?: number | undefined;
  readonly sha256?: string | undefined;
}

export type Source = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

interface Range {
  readonly offset: number;
  /** Length in bytes; fewer are read when the blob ends earlier. */
  readonly length: number;
}

export interface ListedBlob {
  readonly key: string;
  readonly sizeBytes: number;
}

/** Describes a key as the store reports it. */
interface FoundBlob extends ListedBlob {
  /** When its bytes came under this key, in milliseconds since 1970 by the store's clock. */
  readonly storedAt: number;
}

/** Describes a multipart upload that was neither completed nor aborted. */
interface UnfinishedUpload {
  readonly key: string;
  readonly upload: string;
  /** When it was begun, in milliseconds since 1970 by the store's clock. */
  readonly begunAt: number;
}

interface Part {
  /** Counts from 1. */
  readonly number: number;
  readonly sizeBytes: number;
}

/** Holds a URL by which a client reaches the store directly, and the headers that it has to send. */
export interface SignedUrl {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface DisplayHeaders {
  readonly contentType: string;
  /** Value of the `Content-Disposition` header. */
  readonly contentDisposition: string;
}

/**
 * Stores bytes under keys (`[a-z0-9-/.]`, no `..`).
 *
 * Duties of an adapter:
 * - A put is atomic: a reader gets either all of the new bytes or what was there before.
 * - When a put has resolved, its bytes are durable, and its result gives their size and SHA-256 as they were stored.
 * - A put whose source fails, or whose bytes are not as expected, rejects and leaves nothing behind.
 * - A range is read without reading what precedes it; a range beyond the end is not an error.
 * - For a key without bytes `read` rejects with `BlobMissing`, `size` is undefined, and `delete` does nothing.
 * - `list` returns every key below a prefix that holds bytes, and none whose put is in progress; bytes that were moved
 *   to a key count as stored there from the time of the move.
 * - Parts are put in any order, any number of times, and are invisible until they are completed; completing joins them
 *   in order into one blob, or leaves nothing under its key; the parts are gone afterwards.
 * - A signed URL permits one method on one key for a limited time; a store that clients can't reach signs none.
 */
export interface BlobStore {
  put(key: string, source: Source, expected?: ExpectedBytes): Promise<StoredBytes>;
  /** Returns the number of bytes under a key, or undefined when there are none. */
  size(key: string): Promise<number | undefined>;
  read(key: string, range?: Range): AsyncIterable<Buffer>;
  delete(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<FoundBlob>;

  /** Begins a multipart upload and returns its id. */
  beginParts(key: string): Promise<string>;
  putPart(key: string, upload: string, number: number, source: Source, expected?: ExpectedBytes): Promise<StoredBytes>;
  /** Lists the stored parts, sorted by number. */
  parts(key: string, upload: string): Promise<Part[]>;
  completeParts(key: string, upload: string, expected?: ExpectedBytes): Promise<StoredBytes>;
  abortParts(key: string, upload: string): Promise<void>;
  /** Lists multipart uploads below a prefix that were neither completed nor aborted. */
  unfinished(prefix: string): AsyncIterable<UnfinishedUpload>;
  /**
   * Moves the bytes under one key to another, as they were at one moment. A repeated call after a completed move
   * returns the same result.
   */
  move(from: string, to: string, expected?: ExpectedBytes): Promise<StoredBytes>;

  /** Signs a URL that is valid for `seconds`; undefined when clients can't reach the store. */
  signGet(key: string, seconds: number, shown: DisplayHeaders): Promise<SignedUrl | undefined>;
  signPut(key: string, seconds: number, expected?: ExpectedBytes): Promise<SignedUrl | undefined>;
  signPart(key: string, upload: string, number: number, seconds: number): Promise<SignedUrl | undefined>;

  /** Returns a path in the file system that holds the bytes, or undefined when there is none. */
  path(key: string): string | undefined;
  /** Reads, without a cache, which installation the store belongs to; undefined when that is not known. */
  installationId(): Promise<string | undefined>;
  /** Only this process writes here, so puts that an earlier process left incomplete are dead. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

/** Reports that the store lacks the bytes of a record, or has fewer than recorded. Clients get 500 `bytes_missing`. */
export class BlobMissing extends AppError {
  constructor(readonly key: string) {
    const cause = new Error(`the store has no bytes, or too few, under ${key}`);
    super('INTERNAL', 'bytes_missing', 'The stored bytes of this file are missing or incomplete.', { cause });
    this.name = 'BlobMissing';
  }
}

const missing = counter(
  'blob.missing',
  '{read}',
  'Reads of files whose bytes are missing from the store or incomplete.',
).bind();

/** Wraps a store and counts the reads that found no bytes. */
export function countMissing(store: BlobStore): BlobStore {
  return {
    ...store,
    async *read(key, range) {
      try {
        yield* store.read(key, range);
      } catch (error) {
        if (error instanceof BlobMissing) missing.add();
        throw error;
      }
    },
  };
}

/** Throws `BlobMissing` and counts it when a key does not hold the bytes of its record. Returns their number. */
export async function requireBytes(store: Pick<BlobStore, 'size'>, key: string, sizeBytes?: number): Promise<number> {
  const size = await store.size(key);
  if (size === undefined || (sizeBytes !== undefined && size !== sizeBytes)) {
    missing.add();
    throw new BlobMissing(key);
  }
  return size;
}

/** Reports bytes whose size or checksum is not as expected. */
export class WrongBytes extends Error {
  constructor(
    readonly what: 'size' | 'checksum',
    readonly stored: StoredBytes,
  ) {
    super(`the bytes have another ${what} than they should`);
    this.name = 'WrongBytes';
  }
}

/** Returns `key`; throws when it is not a plain path. */
export function requireKey(key: string): string {
  if (!/^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/.test(key) || key.includes('..')) {
    throw new Error(`${JSON.stringify(key)} is not a valid key`);
  }
  return key;
}

/** Throws `WrongBytes` when bytes are not as expected. */
export function requireExpected(stored: StoredBytes, { sizeBytes, sha256 }: ExpectedBytes = {}): void {
  if (sizeBytes !== undefined && stored.sizeBytes !== sizeBytes) throw new WrongBytes('size', stored);
  if (sha256 !== undefined && stored.sha256 !== sha256) throw new WrongBytes('checksum', stored);
}
