import type { Sort } from './port.js';

/** The fields that records with a name are sorted by. */
interface Named {
  readonly id: string;
  readonly version: number;
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

/** Returns the order that a request names; by name, ignoring case and width, if it names none. */
export const namedSort = (sort: string): Sort<Named> => NAMED_SORTS[sort] ?? ['nameFold'];
