import { createBreathe, nextTurn } from '@commonplace/kit/slices';
import type { Row } from './file/binding.js';

/**
 * Bytes of JSON above which another thread reads a record: by itself, or as one of several. SQLite's driver decodes a mebibyte of
 * text beyond ASCII in five milliseconds.
 */
const MAX_BYTES = { alone: 512 * 1024, ofSeveral: 64 * 1024 };

/** What takes the place of records that another thread has to read. */
export const ELSEWHERE = 'elsewhere';

/** The records of a page, if they were read: some are not parsed yet. */
export type FoundPage<T> = T[] | LargePage | typeof ELSEWHERE;

/** SQL of a record's JSON, or of the number of its bytes if there are too many to read it on the main thread. */
export const DOC_ALONE = docUpTo(MAX_BYTES.alone);
export const DOC_OF_SEVERAL = docUpTo(MAX_BYTES.ofSeveral);

// The length of a text is stored before it, so that the text is not read.
function docUpTo<N extends number>(bytes: N) {
  return `CASE WHEN octet_length(doc) <= ${bytes} THEN doc ELSE octet_length(doc) END` as const;
}

/** Returns whether a row has the size of a record in place of the record. */
export const isElsewhere = ([doc]: Row): boolean => typeof doc === 'number';

/** Characters of JSON above which a page is parsed with pauses, and not kept in memory: some five milliseconds. */
const LARGE_CHARS = 1024 * 1024;

/** A page of the file whose records are not parsed yet, because that would block the event loop. */
export class LargePage {
  /** Each row begins with the JSON of a record. */
  constructor(private readonly rows: readonly Row[]) {}

  /** Parses the records, and lets other requests run in between, and before, as reading them has taken milliseconds. */
  async parse<T>(): Promise<T[]> {
    // The first of two may belong to the turn in which they were read.
    await nextTurn();
    await nextTurn();
    const breathe = createBreathe();
    const records: T[] = [];
    for (const [doc] of this.rows) {
      records.push(JSON.parse(doc as string) as T);
      await breathe();
    }
    return records;
  }
}

/** Returns whether the records of a page are large together. A single one cannot be parsed with pauses. */
export function isLarge(rows: readonly Row[]): boolean {
  if (rows.length < 2) return false;
  let chars = 0;
  for (const [doc] of rows) chars += (doc as string).length;
  return chars > LARGE_CHARS;
}
