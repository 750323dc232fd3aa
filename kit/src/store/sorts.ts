import type { Sort, StoredRecord } from './port.js';

/**
 * Returns the orders of a list by the words of `sort`, from the field of the records that each word stands for: `name`
 * and `-name` for the word `name`.
 */
export function sortsBy<T>(fields: Readonly<Record<string, keyof T & string>>): Readonly<Record<string, Sort<T>>> {
  const both = ([word, field]: [string, keyof T & string]): [string, Sort<T>][] => [
    [word, [field]],
    [`-${word}`, [`-${field}`]],
  ];
  return Object.fromEntries(Object.entries(fields).flatMap(both));
}

/** The fields that records with a name are sorted by. */
interface Named extends StoredRecord {
  /** The name as `foldName` returns it. */
  readonly nameFold: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const NAMED_SORTS = sortsBy<Named>({ name: 'nameFold', created_at: 'createdAt', updated_at: 'updatedAt' });

/** Returns the order that a request names. If it names none, it is `fallback`: by name, ignoring case and width. */
export function namedSort(sort: string, fallback: Sort<Named> = ['nameFold']): Sort<Named> {
  return NAMED_SORTS[sort] ?? fallback;
}
