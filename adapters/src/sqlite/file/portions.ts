/** Characters that are copied to or from another thread at a time: some two milliseconds. */
const PORTION_CHARS = 1024 * 1024;

/** Divides items into portions, each with at least one; one portion if they are not large together. */
export function portionsOf<T>(items: readonly T[], charsOf: (item: T) => number): (readonly T[])[] {
  const portions: (readonly T[])[] = [];
  let [from, chars] = [0, 0];
  for (const [at, item] of items.entries()) {
    chars += charsOf(item);
    if (chars < PORTION_CHARS || at === items.length - 1) continue;
    portions.push(items.slice(from, at + 1));
    from = at + 1;
    chars = 0;
  }
  return [...portions, from === 0 ? items : items.slice(from)];
}
