/** Bytes that have been put: how many, and their SHA-256 in lower-case hexadecimal. */
export interface Stored {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** What bytes have to be; a put of others rejects with `WrongBytes` and leaves nothing. */
export interface Expected {
  readonly sizeBytes?: number | undefined;
  readonly sha256?: string | undefined;
}

export type Source = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Range {
  readonly offset: number;
  /** Up to so many; fewer where the bytes end. */
  readonly length: number;
}

export interface Listed {
  readonly key: string;
  readonly sizeBytes: number;
}

export interface Part {
  /** From 1. */
  readonly number: number;
  readonly sizeBytes: number;
}

/** A URL by which a client reaches the store itself, and the headers that it has to send. */
export interface SignedUrl {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Shown {
  readonly contentType: string;
  /** The header's value. */
  readonly contentDisposition: string;
}

/**
 * Keeps bytes under keys (`[a-z0-9-/.]`, no `..`).
 *
 * Duties of an adapter:
 * - A put is atomic: a reader gets all of the new bytes, or what was there before; never a part of them.
 * - When a put has resolved, its bytes are durable, and its answer tells their size and SHA-256 as they were stored.
 * - A put whose source fails, or whose bytes are not what was expected, rejects and leaves nothing behind.
 * - A range is read without reading what is before it; bytes behind the end are not an error.
 * - A key without bytes rejects with `BlobMissing` when it is read, is undefined to `size`, and is deleted silently.
 * - `list` gives every key that holds bytes below a prefix, and none that is being put.
 * - Parts are put in any order, as often as it takes, and seen by nobody until they are completed; completing gives
 *   all of them in their order as one blob, or leaves nothing under its key; they are gone when that is done.
 * - A signed URL opens one key, for one method, for a time; a store that clients can't reach gives none.
 */
export interface BlobStore {
  put(key: string, source: Source, expected?: Expected): Promise<Stored>;
  /** Bytes under a key; undefined where there are none. */
  size(key: string): Promise<number | undefined>;
  read(key: string, range?: Range): AsyncIterable<Buffer>;
  delete(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<Listed>;

  /** Begins to put in parts. Gives what names them. */
  beginParts(key: string): Promise<string>;
  putPart(key: string, upload: string, number: number, source: Source, expected?: Expected): Promise<Stored>;
  /** The parts that are there, by number. */
  parts(key: string, upload: string): Promise<Part[]>;
  completeParts(key: string, upload: string, expected?: Expected): Promise<Stored>;
  abortParts(key: string, upload: string): Promise<void>;
  /** Puts in parts that were begun below a prefix and neither completed nor aborted. */
  unfinished(prefix: string): AsyncIterable<{ readonly key: string; readonly upload: string }>;
  /**
   * Gives what was put under one key to another, all of it as it was at one moment; the first goes. Once more, when
   * that is done and the first is gone, it gives the same.
   */
  move(from: string, to: string, expected?: Expected): Promise<Stored>;

  /** For so many seconds. */
  signGet(key: string, seconds: number, shown: Shown): Promise<SignedUrl | undefined>;
  signPut(key: string, seconds: number, expected?: Expected): Promise<SignedUrl | undefined>;
  signPart(key: string, upload: string, number: number, seconds: number): Promise<SignedUrl | undefined>;

  /** A path of the file system that holds the bytes; undefined where there is none. */
  path(key: string): string | undefined;
  /** Only this process puts here: what an earlier one left half done is dead. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

export class BlobMissing extends Error {
  constructor(readonly key: string) {
    super(`there are no bytes under ${key}`);
    this.name = 'BlobMissing';
  }
}

/** Bytes that are not what was expected. */
export class WrongBytes extends Error {
  constructor(
    readonly what: 'size' | 'checksum',
    readonly stored: Stored,
  ) {
    super(`the bytes have another ${what} than they should`);
    this.name = 'WrongBytes';
  }
}

/** Refuses a key that is no plain path. */
export function requireKey(key: string): string {
  if (!/^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/.test(key) || key.includes('..')) {
    throw new Error(`${JSON.stringify(key)} is no key`);
  }
  return key;
}

/** Throws `WrongBytes` where bytes are not what was expected. */
export function requireExpected(stored: Stored, { sizeBytes, sha256 }: Expected = {}): void {
  if (sizeBytes !== undefined && stored.sizeBytes !== sizeBytes) throw new WrongBytes('size', stored);
  if (sha256 !== undefined && stored.sha256 !== sha256) throw new WrongBytes('checksum', stored);
}
