import type { Where } from '@commonplace/kit/store';

/**
 * Puts the conditions of `and` beside the others, as far as each field has one, so that they are found when an index is
 * chosen. Ranges of one field become one condition.
 */
export function flatten<T>(where: Where<T>): Where<T> {
  if (where.and === undefined) return where;
  const fields = new Map<string, unknown>();
  const others: Record<string, unknown>[] = [];
  const add = (part: Where<T>): void => {
    for (const [name, entry] of Object.entries(part)) {
      if (entry === undefined) continue;
      const known = fields.get(name);
      if (name === 'and') for (const one of entry as Where<T>[]) add(one);
      else if (known === undefined) fields.set(name, entry);
      else if (name !== 'or' && areDisjoint(known, entry)) fields.set(name, { ...known, ...entry });
      else others.push({ [name]: entry });
    }
  };
  add(where);
  if (others.length > 0) fields.set('and', others);
  return Object.fromEntries(fields) as Where<T>;
}

/** Returns whether two conditions of a field use different operators, so that they can be one. */
function areDisjoint(a: unknown, b: unknown): a is object {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return Object.keys(b).every((operator) => !Object.hasOwn(a, operator));
}
