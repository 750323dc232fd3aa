import { invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { generateKeyBetween } from 'fractional-indexing';

/** Where among its siblings a node is asked to stand. */
export type Wish = { at: 'first' | 'last' } | { after: string } | { before: string };

/** Reads `"first"`, `"last"`, `{"after_id": …}` or `{"before_id": …}`; last when nothing is given. */
export function parseWish(json: Buffer): Wish {
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

/** A key between two siblings' keys; null stands for the end. Equal keys are told apart by ids. */
export function keyBetween(before: string | null, after: string | null): string {
  return before !== null && before === after ? before : generateKeyBetween(before, after);
}
