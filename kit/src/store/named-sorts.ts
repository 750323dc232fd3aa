import type { Sort, StoredRecord } from './port.js';

/** The fields that records with a name are sorted by. */
interface Named extends StoredRecord {
  /** The name as `foldName` returns it. */
  readonly nameFold: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The orders of a list of records with a name, by the words of `sort`. */
const NAMED_SORTS: Readonly<Record<string, Sort<Named>>> = {
  name: ['nameFold'],
  '-name': ['-nameFold'],
  created_at: ['createdAt'],
  '-created_at': ['-createdAt'],
  updated_at: ['updatedAt'],
  '-updated_at': ['-updatedAt'],
};

/** Returns the order that a request names. If it names none, it is `fallback`: by name, ignoring case and width. */
export function namedSort(sort: string, fallback: Sort<Named> = ['nameFold']): Sort<Named> {
  return NAMED_SORTS[sort] ?? fallback;
}
