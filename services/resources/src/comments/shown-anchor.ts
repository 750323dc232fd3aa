import { NO_ACCESS } from '../documents/index.js';
import { namedIn } from '../documents/kind/hidden.js';
import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';
import type { Anchor } from './records.js';

/** Minimum length of a part of hidden words at the edge of a passage that is replaced. */
const MIN_PART_CHARS = 4;

/** Maximum number of hidden texts that are looked for in anchors; where a document has more, its anchors show no text. */
const MAX_HIDDEN_TEXTS = 50;

/** What the references in a document say that name resources which a reader must not know of. */
export interface HiddenWords {
  readonly texts: readonly { readonly words: string; readonly pattern: RegExp }[];
  readonly tooMany: boolean;
}

export const NO_WORDS: HiddenWords = { texts: [], tooMany: false };

/** Returns the words of the references in a document that name resources which the caller must not know of. */
export async function wordsHiddenIn(
  { kinds }: Pick<CommentParts, 'kinds'>,
  node: Node,
  hiddenIn: (text: string) => Promise<readonly string[]>,
): Promise<HiddenWords> {
  const text = await kinds.document.text(node);
  if (namedIn(text).length === 0) return NO_WORDS;
  const ids = new Set(await hiddenIn(text));
  if (ids.size === 0) return NO_WORDS;
  const all = await kinds.document.hiddenWords(node, ids);
  if (all.length > MAX_HIDDEN_TEXTS) return { texts: [], tooMany: true };
  return { texts: all.map((words) => ({ words, pattern: patternOf(words) })), tooMany: false };
}

function patternOf(words: string): RegExp {
  return new RegExp(words.split(/\s+/).map(escaped).join('\\s+'), 'g');
}

const escaped = (word: string): string => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * Returns the anchor of a comment as a reader may see it. The passage was copied from the document as its author saw
 * it, so words of references that are hidden from this reader are replaced, and so are parts of them at its edges.
 */
export function shownAnchor(anchor: Anchor, { texts, tooMany }: HiddenWords): Anchor {
  if (texts.length === 0 && !tooMany) return anchor;
  const { quote, prefix, suffix } = anchor;
  const shown = (text: string) => (tooMany ? NO_ACCESS : texts.reduce(withoutWords, text));
  return {
    ...anchor,
    quote: shown(quote),
    ...(prefix === undefined ? {} : { prefix: shown(prefix) }),
    ...(suffix === undefined ? {} : { suffix: shown(suffix) }),
  };
}

function withoutWords(text: string, { words, pattern }: HiddenWords['texts'][number]): string {
  const part = text.trim();
  if (part.length >= MIN_PART_CHARS && words.includes(part)) return NO_ACCESS;
  const whole = text.replace(pattern, NO_ACCESS);
  const head = longestPart(words, whole, (length) => whole.endsWith(words.slice(0, length)));
  const start = head === undefined ? whole : whole.slice(0, whole.length - head) + NO_ACCESS;
  const tail = longestPart(words, start, (length) => start.startsWith(words.slice(-length)));
  return tail === undefined ? start : NO_ACCESS + start.slice(tail);
}

/**
 * Returns the greatest length for which `holds` returns true, less than that of `words` and at most that of `text`;
 * undefined if there is none of `MIN_PART_CHARS` or more.
 */
function longestPart(words: string, text: string, holds: (length: number) => boolean): number | undefined {
  for (let length = Math.min(words.length - 1, text.length); length >= MIN_PART_CHARS; length--) {
    if (holds(length)) return length;
  }
  return undefined;
}
