export { maxEntries } from './max-entries.js';
export { createSharedFetches, type SharedFetches, type SharedFetchesOptions } from './shared-fetches.js';
