export { maxEntries } from './max-entries.js';
export { createSharedFetches } from './shared-fetches.js';
