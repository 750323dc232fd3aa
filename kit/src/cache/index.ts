export { maxEntries } from './max-entries.js';
export { once } from './once.js';
export { createSharedFetches } from './shared-fetches.js';
export { createSharedWork } from './shared-work.js';
