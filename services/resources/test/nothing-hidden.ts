import type { Hidden } from '../src/documents/kind/hidden.js';

/** For documents whose references everybody may read. */
export const NOTHING_HIDDEN: Hidden = { from: async () => [], in: async () => [] };
