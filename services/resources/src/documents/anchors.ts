import search from 'approx-string-match';
import { type Doc, eachBlock, hasId } from './model/model.js';
import { blockText } from './model/text.js';

/** The target of a comment: the quoted words, the text around them, and the block that held them. */
export interface Anchor {
  readonly quote: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly block_id?: string;
}

/** The current place of the quoted words, in code points of the block's text; `end` is exclusive. */
export interface Place {
  readonly block_id: string;
  readonly start: number;
  readonly end: number;
}

/**
 * A block's text, the same text with each run of white space as one blank, and a map from offsets there to the text.
 */
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

/** Returns how many characters of the anchor's prefix and suffix still surround a match. */
function scoreOf(flat: string, start: number, end: number, { prefix = '', suffix = '' }: Anchor): number {
  const [left, right] = [flatten(prefix), flatten(suffix)];
  let score = 0;
  while (score < left.length && start - score > 0 && left[left.length - 1 - score] === flat[start - 1 - score])
    score += 1;
  let after = 0;
  while (after < right.length && end + after < flat.length && right[after] === flat[end + after]) after += 1;
  return score + after;
}

/** Returns the best exact match of the quote in a block, among its first 1000 occurrences. */
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

/** Longest text, in characters, in which edited words are searched for. */
const MAX_FUZZY_TEXT = 50_000;
const MAX_FUZZY_QUOTE = 500;

/** Returns the best match in a block of a quote of which at most the `share` of its characters was edited. */
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

/** Returns the text between the anchor's prefix and suffix, for a quote that was rewritten in between. */
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

/** Returns whether a match outside the anchor's block is reliable: short quotes need some of their surroundings too. */
const isReliable = (found: Found, quote: string, anchor: Anchor): boolean =>
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
  if (best !== undefined && isReliable(best, quote, anchor)) return best;
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
 * Finds comments' quotes in a document whose blocks have ids. Searches the own block of each first, for the exact words
 * and then for edited ones, and the other blocks after that. Returns 'orphaned' for those of which nothing matches.
 */
export function findAnchors(doc: Doc, anchors: readonly Anchor[]): (Place | 'orphaned')[] {
  const blocks: Searchable[] = [];
  eachBlock(doc, (block) => {
    const text = hasId(block) && block.id !== undefined ? blockText(block) : '';
    if (text !== '') blocks.push(searchable(block.id as string, text));
  });
  return anchors.map((anchor) => place(doc, blocks, anchor));
}

function place(doc: Doc, blocks: readonly Searchable[], anchor: Anchor): Place | 'orphaned' {
  const quote = flatten(anchor.quote).trim();
  if (quote === '') return blockAlone(doc, anchor);
  const found = locate(blocks, quote, anchor) ?? longestLine(blocks, anchor);
  if (found === undefined) return 'orphaned';
  const { block, start, end } = found;
  const from = codePoints(block.text.slice(0, block.at(start)));
  return { block_id: block.id, start: from, end: from + codePoints(block.text.slice(block.at(start), block.at(end))) };
}

/** Finds a quote that spanned several blocks by its longest line. */
function longestLine(blocks: readonly Searchable[], anchor: Anchor): Found | undefined {
  const lines = anchor.quote.split('\n').map((line) => flatten(line).trim());
  if (lines.length < 2) return undefined;
  const quote = lines.reduce((longest, line) => (line.length > longest.length ? line : longest), '');
  return quote === '' ? undefined : locate(blocks, quote, { ...anchor, prefix: '', suffix: '' });
}

/** Returns the whole block of an anchor without a quote. */
function blockAlone(doc: Doc, anchor: Anchor): Place | 'orphaned' {
  let place: Place | 'orphaned' = 'orphaned';
  eachBlock(doc, (block) => {
    if (block.id !== undefined && block.id === anchor.block_id) {
      place = { block_id: block.id, start: 0, end: codePoints(blockText(block)) };
    }
  });
  return place;
}
