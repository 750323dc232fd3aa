import type { SourceItem } from '../port.js';

/**
 * Creates an item that has every field, absent ones as undefined, so that all items of a source share one hidden class.
 * V8 gives each item that is built by spreading another a hidden class of its own, which takes 200 bytes.
 */
export function sourceItem(fields: SourceItem): SourceItem {
  const { path, parent, kind, name, externalId, entry, described, onlyIfLinked, sizeBytes } = fields;
  return { path, parent, kind, name, externalId, entry, described, onlyIfLinked, sizeBytes };
}
