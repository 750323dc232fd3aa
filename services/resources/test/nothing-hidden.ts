import type { Hidden } from '../src/content/hidden.js';

/** For documents that everybody may read with all they refer to. */
export const NOTHING_HIDDEN: Hidden = { from: async () => [], in: async () => [] };
