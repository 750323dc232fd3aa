/**
 * Returns a table that has its entries alone. In an object literal, names that come from outside, such as
 * `constructor`, also find what all objects inherit.
 */
export function dictionary<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, Value>, entries));
}
