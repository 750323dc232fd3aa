import search from 'approx-string-match';
import { type Doc, eachBlock, hasId } from './model.js';
import { blockText } from './text.js';

/** What a comment points at: the words, what stood around them, and the block they stood in. */
export interface Anchor {
  readonly quote: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly block_id?: string;
}

/** Where the words are now: code points in the block's text, `end` exclusive. */
export interface Place {
  readonly block_id: string;
  readonly start: number;
  readonly end: number;
}

/** A block's text with its blanks made one, and where each character of it stands in the text. */
interface Searchable {
  readonly id: string;
  readonly text: string;
  readonly flat: string;
  readonly at: (index: number) => number;
}

interface Found {
  readonly block: Searchable;
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

const flatten = (text: string): string => text.replace(/\s+/g, ' ');

function searchable(id: string, text: string): Searchable {
  const flat = flatten(text);
  if (flat.length === text.length) return { id, text, flat, at: (index) => index };
  const places: number[] = [];
  for (const match of text.matchAll(/\s+|\S/g)) places.push(match.index);
  places.push(text.length);
  return { id, text, flat, at: (index) => places[index] ?? text.length };
}

/** How many characters of what stood around the words still stand around a place. */
function scoreOf(flat: string, start: number, end: number, { prefix = '', suffix = '' }: Anchor): number {
  const [left, right] = [flatten(prefix), flatten(suffix)];
  let score = 0;
  while (score < left.length && start - score > 0 && left[left.length - 1 - score] === flat[start - 1 - score])
    score += 1;
  let after = 0;
  while (after < right.length && end + after < flat.length && right[after] === flat[end + after]) after += 1;
  return score + after;
}

/** The best place of the very words in a block; so many places of a block are looked at. */
function exact(block: Searchable, quote: string, anchor: Anchor): Found | undefined {
  let best: Found | undefined;
  let start = block.flat.indexOf(quote);
  for (let tries = 0; start >= 0 && tries < 1000; tries += 1) {
    const end = start + quote.length;
    const score = scoreOf(block.flat, start, end, anchor);
    if (best === undefined || score > best.score) best = { block, start, end, score };
    start = block.flat.indexOf(quote, start + 1);
  }
  return best;
}

/** Longer texts are not searched for words that are only similar. */
const MAX_FUZZY_TEXT = 50_000;
const MAX_FUZZY_QUOTE = 500;

/** The best place of words that were edited: at most `share` of their characters. */
function similar(block: Searchable, quote: string, anchor: Anchor, share: number): Found | undefined {
  if (block.flat.length > MAX_FUZZY_TEXT || quote.length > MAX_FUZZY_QUOTE || quote.length < 4) return undefined;
  let best: (Found & { errors: number }) | undefined;
  for (const { start, end, errors } of search(block.flat, quote, Math.floor(quote.length * share))) {
    const score = scoreOf(block.flat, start, end, anchor);
    if (best === undefined || errors < best.errors || (errors === best.errors && score > best.score)) {
      best = { block, start, end, score, errors };
    }
  }
  return best;
}

/** What now stands between the surroundings of words that were rewritten. */
function between(block: Searchable, quote: string, { prefix = '', suffix = '' }: Anchor): Found | undefined {
  const [left, right] = [flatten(prefix).slice(-24), flatten(suffix).slice(0, 24)];
  if (left.trim().length < 4 || right.trim().length < 4) return undefined;
  const before = block.flat.indexOf(left);
  if (before < 0) return undefined;
  const start = before + left.length;
  const end = block.flat.indexOf(right, start);
  if (end <= start || end - start > quote.length * 3 + 20) return undefined;
  return { block, start, end, score: left.length + right.length };
}

/** Short words are taken elsewhere only with something of what stood around them. */
const isTold = (found: Found, quote: string, anchor: Anchor): boolean =>
  quote.length >= 16 || found.score >= 4 || (!anchor.prefix && !anchor.suffix && anchor.block_id === undefined);

const better = (a: Found | undefined, b: Found | undefined): Found | undefined =>
  a === undefined || (b !== undefined && b.score > a.score) ? b : a;

function locate(blocks: readonly Searchable[], quote: string, anchor: Anchor): Found | undefined {
  const home = blocks.find(({ id }) => id === anchor.block_id);
  if (home !== undefined) {
    const found = exact(home, quote, anchor) ?? between(home, quote, anchor) ?? similar(home, quote, anchor, 0.3);
    if (found !== undefined) return found;
  }
  let best: Found | undefined;
  for (const block of blocks) best = better(best, exact(block, quote, anchor));
  if (best !== undefined && isTold(best, quote, anchor)) return best;
  if (quote.length < 20) return undefined;
  let left = MAX_FUZZY_TEXT * 4;
  for (const block of blocks) {
    left -= block.flat.length;
    if (left < 0) break;
    best = better(best, similar(block, quote, anchor, 0.15));
  }
  return best;
}

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/**
 * Finds a comment's words in a document whose blocks have ids: first in their block, the words
 * themselves, then edited ones; then in the rest of the page.
 */
export function findAnchor(doc: Doc, anchor: Anchor): Place | 'orphaned' {
  const blocks: Searchable[] = [];
  eachBlock(doc, (block) => {
    const text = hasId(block) && block.id !== undefined ? blockText(block) : '';
    if (text !== '') blocks.push(searchable(block.id as string, text));
  });
  const quote = flatten(anchor.quote).trim();
  if (quote === '') return blockAlone(doc, anchor);
  const found = locate(blocks, quote, anchor) ?? longestLine(blocks, anchor);
  if (found === undefined) return 'orphaned';
  const { block, start, end } = found;
  const from = codePoints(block.text.slice(0, block.at(start)));
  return { block_id: block.id, start: from, end: from + codePoints(block.text.slice(block.at(start), block.at(end))) };
}

/** Words that went over several blocks are found by their longest line. */
function longestLine(blocks: readonly Searchable[], anchor: Anchor): Found | undefined {
  const lines = anchor.quote.split('\n').map((line) => flatten(line).trim());
  if (lines.length < 2) return undefined;
  const quote = lines.reduce((longest, line) => (line.length > longest.length ? line : longest), '');
  return quote === '' ? undefined : locate(blocks, quote, { ...anchor, prefix: '', suffix: '' });
}

/** An anchor without words is on its block as a whole. */
function blockAlone(doc: Doc, anchor: Anchor): Place | 'orphaned' {
  let place: Place | 'orphaned' = 'orphaned';
  eachBlock(doc, (block) => {
    if (block.id !== undefined && block.id === anchor.block_id) {
      place = { block_id: block.id, start: 0, end: codePoints(blockText(block)) };
    }
  });
  return place;
}
