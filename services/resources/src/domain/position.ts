import { invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { generateKeyBetween } from 'fractional-indexing';

/** The requested position of a node among its siblings. */
export type RequestedPosition = { at: 'first' | 'last' } | { after: string } | { before: string };

/**
 * Reads `"first"`, `"last"`, `{"after_id": …}` or `{"before_id": …}`; returns last for an empty buffer. Throws
 * `invalid_value`.
 */
export function parsePosition(json: Buffer): RequestedPosition {
  const value: unknown = json.length === 0 ? 'last' : JSON.parse(json.toString());
  if (value === 'first' || value === 'last') return { at: value };
  if (typeof value === 'object' && value !== null) {
    const [[key, id] = [], ...others] = Object.entries(value);
    if (others.length === 0 && typeof id === 'string' && isUuid(id)) {
      if (key === 'after_id') return { after: id };
      if (key === 'before_id') return { before: id };
    }
  }
  throw invalidField(
    'position',
    'invalid_value',
    'position is "first", "last", {"after_id": id} or {"before_id": id}.',
  );
}

/**
 * Returns a key between the keys of two siblings; null is the end of the list. Between equal keys it returns the same
 * key, and ids break the tie.
 */
export function keyBetween(before: string | null, after: string | null): string {
  return before !== null && before === after ? before : generateKeyBetween(before, after);
}
