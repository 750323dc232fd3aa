import type { CallContext } from '@commonplace/kit/rpc';
import { hiddenWords, NO_ACCESS } from '../documents/index.js';
import { namedIn } from '../documents/kind/hidden.js';
import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';
import type { Anchor } from './records.js';

/** Minimum length of a part of hidden words at the edge of a passage that is replaced. */
const MIN_PART_CHARS = 4;

/** Returns the words of the references in a document that name resources which the caller must not know of. */
export async function wordsHiddenIn(
  { kinds }: Pick<CommentParts, 'kinds'>,
  node: Node,
  hiddenIn: (text: string) => Promise<readonly string[]>,
  context: Pick<CallContext, 'work'>,
): Promise<readonly string[]> {
  const text = await kinds.document.text(node);
  if (namedIn(text).length === 0) return [];
  const ids = new Set(await hiddenIn(text));
  return ids.size === 0 ? [] : hiddenWords(await kinds.document.blocks(node, context), ids);
}

/**
 * Returns the anchor of a comment as a reader may see it. The passage was copied from the document as its author saw
 * it, so words of references that are hidden from this reader are replaced, and so are parts of them at its edges.
 */
export function shownAnchor(anchor: Anchor, words: readonly string[]): Anchor {
  if (words.length === 0) return anchor;
  const { quote, prefix, suffix } = anchor;
  const shown = (text: string) => words.reduce(withoutWords, text);
  return {
    ...anchor,
    quote: shown(quote),
    ...(prefix === undefined ? {} : { prefix: shown(prefix) }),
    ...(suffix === undefined ? {} : { suffix: shown(suffix) }),
  };
}

function withoutWords(text: string, words: string): string {
  const part = text.trim();
  if (part.length >= MIN_PART_CHARS && words.includes(part)) return NO_ACCESS;
  const pattern = words.split(/\s+/).map(escaped).join('\\s+');
  const whole = text.replace(new RegExp(pattern, 'g'), NO_ACCESS);
  const lengths = Array.from({ length: Math.max(0, words.length - MIN_PART_CHARS) }, (_, i) => words.length - 1 - i);
  const head = lengths.find((length) => whole.endsWith(words.slice(0, length)));
  const start = head === undefined ? whole : whole.slice(0, whole.length - head) + NO_ACCESS;
  const tail = lengths.find((length) => start.startsWith(words.slice(-length)));
  return tail === undefined ? start : NO_ACCESS + start.slice(tail);
}

const escaped = (word: string): string => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
