import { createBreathe, nextTurn } from '@commonplace/kit/slices';
import type { Row } from './file/binding.js';

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

/** Returns whether a record takes milliseconds to parse. */
export const isLong = ([doc]: Row): boolean => (doc as string).length > LARGE_CHARS;

/** Returns whether the records of a page are large together. A single one cannot be parsed with pauses. */
export function isLarge(rows: readonly Row[]): boolean {
  if (rows.length < 2) return false;
  let chars = 0;
  for (const [doc] of rows) chars += (doc as string).length;
  return chars > LARGE_CHARS;
}
