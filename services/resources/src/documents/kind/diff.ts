import { lazyLibrary } from '@commonplace/kit/library';
import type { Diff } from '../../content/kind.js';

const library = lazyLibrary<typeof import('diff')>('diff', import.meta.url);

/** Milliseconds that a comparison may take; it runs in a worker thread if the texts are long. */
const TIMEOUT_MS = 2000;
/** Unchanged lines shown around a difference. */
const CONTEXT = 3;
const NOTHING = Buffer.alloc(0);
const NO_LINES = { added: 0, removed: 0, changed: 0, unified: '', columns: NOTHING, rows: NOTHING, truncated: false };

/** Returns a unified diff of two texts. If the comparison takes too long, returns none and sets `truncated`. */
export function diffLines(before: string, after: string): Diff {
  if (before === after) return NO_LINES;
  const { FILE_HEADERS_ONLY, formatPatch, structuredPatch } = library();
  const options = { context: CONTEXT, timeout: TIMEOUT_MS };
  const patch = structuredPatch('snapshot', 'other', before, after, undefined, undefined, options);
  if (patch === undefined) return { ...NO_LINES, unified: undefined, truncated: true };
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith('+')).length;
  const removed = lines.filter((line) => line.startsWith('-')).length;
  return { ...NO_LINES, added, removed, unified: formatPatch(patch, FILE_HEADERS_ONLY) };
}
