/**
 * Returns the options of an `LRUCache` of at most `most` entries that takes room as it fills. With `max` it would take
 * the room of all entries at once: 0.8 MB for 50,000, which most caches never have.
 */
export function roomFor(most: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: most, sizeCalculation: () => 1 };
}
