import type { CallContext } from '@commonplace/kit/rpc';
import { textsOf } from '../content/kinds.js';
import { namedResources, plainText } from '../documents/index.js';
import type { Parts } from '../parts.js';
import { foldName } from '../stores/nodes.js';
import { MAX_SEARCH_TEXT } from '../tables/limits.js';
import { bodyOf } from './bodies.js';
import { addressesOf } from './face.js';
import type { Opened } from './open.js';
import type { Entry, Shown } from './outline.js';

/** Rows that are read of a table at once. */
const ROWS = 500;
const EXCERPT_BEFORE = 60;
const EXCERPT_LENGTH = 180;

/**
 * The texts that hold the words, with their names, as readers get them. What lies in the store is looked at first, and
 * only where it holds the words the page is made: what the page leaves out is not found.
 */
export async function textsThatHold(
  parts: Parts,
  opened: Opened,
  entries: readonly Entry[],
  words: readonly string[],
  context: CallContext,
): Promise<ReadonlyMap<string, string>> {
  const live = entries.filter(({ shown }) => shown.keptId === undefined);
  const stored = await textsOf(
    parts.kinds,
    live.map(({ shown }) => shown.node),
  );
  const texts = new Map<string, string>();
  for (const { shown } of entries) {
    const name = foldName(shown.name);
    const known = stored.get(shown.id);
    if (known !== undefined && !mayHold(`${name}\n${known}`, words)) continue;
    const open = words.filter((word) => !name.includes(word));
    const text = await publishedText(parts, opened, shown, open, context);
    if (holdsAll(foldName(text), open)) texts.set(shown.id, text);
  }
  return texts;
}

export const holdsAll = (text: string, words: readonly string[]): boolean => words.every((word) => text.includes(word));

/** Marks of Markdown, which stand within words, before others, and nowhere in what is read. */
const MARKS = /[\\*_`~]+/g;

/** Cards show the names of what they lead to, which are no part of the stored text. */
function mayHold(stored: string, words: readonly string[]): boolean {
  const folded = foldName(stored);
  const bare = folded.replace(MARKS, '');
  const holds = (word: string) => folded.includes(word) || isWithin(bare, word.replace(MARKS, ''));
  return words.every(holds) || namedResources(stored).length > 0;
}

const isWithin = (text: string, word: string): boolean => word !== '' && text.includes(word);

/** As far as search itself reads, or all of `words` are in it. */
async function publishedText(
  parts: Parts,
  opened: Opened,
  shown: Shown,
  words: readonly string[],
  context: CallContext,
): Promise<string> {
  const terms = { opened, addresses: addressesOf(opened), tree: [], format: 'html', limit: ROWS, prefix: '' } as const;
  const texts: string[] = [];
  let wanted = words;
  let chars = 0;
  for (let offset = 0; ; ) {
    const body = await bodyOf(parts, shown, { ...terms, offset }, context);
    if ('document' in body) return plainText(body.document.html.replace(INLINE, ''), ' ');
    if (!('table' in body)) return 'artifact' in body ? body.artifact.source : '';
    const { rows, rowCount } = body.table;
    const text = rows.map(({ cells }) => cells.join(' ')).join('\n');
    const folded = foldName(text);
    texts.push(text);
    chars += text.length;
    wanted = wanted.filter((word) => !folded.includes(word));
    offset += rows.length;
    if (wanted.length === 0 || rows.length === 0 || offset >= rowCount || chars > MAX_SEARCH_TEXT) break;
  }
  return texts.join('\n');
}

/** Tags that stand within words and sentences. */
const INLINE = /<\/?(?:a|b|code|del|em|i|ins|kbd|mark|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?>/g;

/** What stands around the first of the words that is in the text. */
export function excerptOf(text: string, words: readonly string[]): string {
  const folded = foldName(text);
  const places = words.map((word) => folded.indexOf(word)).filter((at) => at >= 0);
  const first = Math.max(0, Math.min(...places, text.length) - EXCERPT_BEFORE);
  const piece = [...text.slice(first, first + EXCERPT_LENGTH)].join('').trim();
  return `${first > 0 ? '…' : ''}${piece}${first + EXCERPT_LENGTH < text.length ? '…' : ''}`;
}
