import { isDeepStrictEqual } from 'node:util';
import type { Collection, StoredRecord, UnitOfWork } from './port.js';

/** Fields that say who has changed a record, and when. They are no change of their own. */
const STAMPS: ReadonlySet<string> = new Set(['version', 'updatedAt', 'updatedBy', 'editedAt']);

/** Returns whether two states of a record differ in more than who has changed it, and when. */
export function isChanged<T extends StoredRecord>(before: T, after: Omit<T, 'version'>): boolean {
  const [one, other] = [before, after] as Record<string, unknown>[] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].some((name) => !STAMPS.has(name) && !isSame(one[name], other[name]));
}

function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(asStored(one), asStored(other));
}

/** Returns a value as it is stored, without what is undefined in it. */
function asStored(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/**
 * Replaces a record that was read, unless nothing would change: then it returns the record itself, whose version stays,
 * and the caller publishes no event.
 */
export function replaceChanged<T extends StoredRecord>(
  work: UnitOfWork,
  into: Collection<T>,
  before: T,
  after: Omit<T, 'version'>,
): T {
  return isChanged(before, after) ? work.replace(into, before, after) : before;
}
