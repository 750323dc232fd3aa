/**
 * Returns options that limit an `LRUCache` to `count` entries and let its memory grow as it fills. The option `max`
 * would allocate memory for all entries at once: 0.8 MB for 50,000 entries, which most caches never reach.
 */
export function maxEntries(count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
