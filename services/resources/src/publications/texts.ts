import { type Folded, fold, originalRange } from '@commonplace/kit/analysis';
import type { CallContext } from '@commonplace/kit/rpc';
import { excerptAround, hasWholeWord, wholeWordSource } from '@commonplace/kit/words';
import { namedResources, plainText } from '../documents/index.js';
import { textsOf } from '../kinds.js';
import { MAX_SEARCH_TEXT } from '../tables/limits.js';
import { bodyOf } from './bodies.js';
import { addressesOf } from './face.js';
import type { OpenedPublication } from './opening.js';
import type { Entry, ShownItem } from './outline.js';
import type { PublicationParts } from './parts.js';

/** Table rows that are read at a time. */
const ROWS_PER_READ = 500;
const EXCERPT_BEFORE = 60;
const EXCERPT_CHARS = 180;

/**
 * Returns the texts of the pages that contain the words in name or text, as readers get them. Checks the stored text
 * first, and renders a page only if that may contain the words. Text that the page omits is not found.
 */
export async function textsThatHold(
  parts: PublicationParts,
  opened: OpenedPublication,
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
    const name = fold(shown.name);
    const known = stored.get(shown.id);
    if (known !== undefined && !mayHold(`${shown.name}\n${known}`, words)) continue;
    const open = words.filter((word) => !hasWholeWord(name.text, word));
    const text = await publishedText(parts, opened, shown, open, context);
    if (holdsAll(fold(text), open)) texts.set(shown.id, text);
  }
  return texts;
}

/** Returns whether a folded text contains all words, each as a whole word. */
export const holdsAll = ({ text }: Folded, words: readonly string[]): boolean =>
  words.every((word) => hasWholeWord(text, word));

/** Markup characters of Markdown, which occur within and around words but not in the rendered text. */
const MARKS = /[\\*_`~]+/g;

/**
 * Returns whether a page may contain the words. Cards show the names of their targets, which are not in the stored
 * text.
 */
function mayHold(stored: string, words: readonly string[]): boolean {
  const folded = fold(stored).text;
  const bare = folded.replace(MARKS, '');
  const holds = (word: string) => folded.includes(word) || isWithin(bare, word.replace(MARKS, ''));
  return words.every(holds) || namedResources(stored).length > 0;
}

const isWithin = (text: string, word: string): boolean => word !== '' && text.includes(word);

/** Returns the text that readers get: as much as search indexes, or up to where all `words` have occurred. */
async function publishedText(
  parts: PublicationParts,
  opened: OpenedPublication,
  shown: ShownItem,
  words: readonly string[],
  context: CallContext,
): Promise<string> {
  const terms = {
    opened,
    addresses: addressesOf(opened),
    tree: [],
    format: 'html',
    limit: ROWS_PER_READ,
    prefix: '',
  } as const;
  const texts: string[] = [];
  let wanted = words;
  let chars = 0;
  for (let offset = 0; ; ) {
    const body = await bodyOf(parts, shown, { ...terms, offset }, context);
    if ('document' in body) return plainText(body.document.html.replace(INLINE, ''), ' ');
    if (!('table' in body)) return 'artifact' in body ? body.artifact.source : '';
    const { rows, rowCount } = body.table;
    const text = rows.map(({ cells }) => cells.join(' ')).join('\n');
    const folded = fold(text).text;
    texts.push(text);
    chars += text.length;
    wanted = wanted.filter((word) => !hasWholeWord(folded, word));
    offset += rows.length;
    if (wanted.length === 0 || rows.length === 0 || offset >= rowCount || chars > MAX_SEARCH_TEXT) break;
  }
  return texts.join('\n');
}

/** Tags that occur within words and sentences. */
const INLINE = /<\/?(?:a|b|code|del|em|i|ins|kbd|mark|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?>/g;

/** Returns the text around the first occurrence of any of the words, cut between words. */
export function excerptOf(text: string, words: readonly string[]): string {
  const folded = fold(text);
  const first = Math.max(folded.text.search(new RegExp(words.map(wholeWordSource).join('|'), 'u')), 0);
  const [at] = originalRange(folded, first, first + 1);
  return excerptAround(text, at, { before: EXCERPT_BEFORE, length: EXCERPT_CHARS });
}
