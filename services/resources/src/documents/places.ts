import type { TextPlace } from '../domain/text-place.js';
import { blockIds, derivedId, withBlockIds } from './ids/assign.js';
import { hashBlock } from './ids/entries.js';
import { type Token, tokenizeBlocks, tokenizeInline } from './markdown/parser.js';
import { docOfTokens, type Origin, parseMarkdown, tellsBlock } from './markdown/read.js';
import { toMarkdown } from './markdown/write.js';
import { type Doc, type DocNode, eachBlock, hasId } from './model/model.js';

/**
 * Returns the ids of the innermost blocks that hold the places in a document's Markdown; undefined if there is no such
 * block, or if the expected text is not there. The ids equal those in the document's JSON.
 *
 * Parses the block structure only, and inline text only as far as the requested ids need it, which takes a third of the
 * time of `parseMarkdown`. `ids` are the stored ids of all blocks; without them the ids are derived.
 */
export function blocksAt(
  markdown: string,
  places: readonly TextPlace[],
  ids?: readonly string[],
): (string | undefined)[] {
  const offsets = places.map((place) => offsetOf(markdown, place));
  const { tokens, env } = tokenizeBlocks(markdown);
  const unread = new Set(tokens.filter((token) => token.type === 'inline' && !tellsBlock(token)));
  for (const token of tokens) {
    if (unread.has(token)) token.children = [standIn(token)];
    else if (token.type === 'inline') token.children = tokenizeInline(token.content, env);
  }
  const origins = new Map<DocNode, Origin>();
  const nodes = blocksOf(docOfTokens(tokens, origins));
  const blocks = nodes.map((node) => origins.get(node));
  const found = offsets.map((offset) => (offset === undefined ? -1 : blockAt(blocks, lineOf(markdown, offset))));
  if (ids !== undefined) return found.map((at) => (ids.length === nodes.length ? ids[at] : undefined));
  if (nodes.some(({ id }) => id !== undefined)) {
    const all = blockIds(withBlockIds(parseMarkdown(markdown)));
    return found.map((at) => all[at]);
  }
  const read = new Map<number, DocNode | undefined>();
  const whole = (at: number): DocNode | undefined => {
    const { tokens: span } = blocks[at] as Origin;
    const some = textsOf(blocks[at], tokens).filter((token) => unread.has(token));
    if (!read.has(at)) {
      for (const token of some) token.children = tokenizeInline(token.content, env);
      read.set(at, some.length === 0 ? nodes[at] : docOfTokens(tokens.slice(...span)).content[0]);
    }
    return read.get(at);
  };
  return found.map((at) => {
    const node = at < 0 ? undefined : whole(at);
    if (node === undefined) return undefined;
    const hash = hashBlock(node);
    // Equal blocks are numbered by their order, so every block that could equal this one is parsed as well.
    const equal = alike(at, blocks, tokens).filter((other) => {
      const one = whole(other);
      return one !== undefined && hashBlock(one) === hash;
    });
    return derivedId(hash, equal.length);
  });
}

/** Does the same as `blocksAt` for a document in another format; its blocks have ids. */
export function blocksOfDocAt(doc: Doc, places: readonly TextPlace[]): (string | undefined)[] {
  const markdown = toMarkdown(doc);
  const read = withBlockIds(parseMarkdown(markdown), doc);
  return blocksAt(markdown, places, blockIds(read));
}

function offsetOf(markdown: string, { offset, text }: TextPlace): number | undefined {
  if (text === '') return undefined;
  if (markdown.startsWith(text, offset)) return offset;
  const elsewhere = markdown.indexOf(text);
  return elsewhere < 0 ? undefined : elsewhere;
}

/** Creates a token that replaces the unparsed text of a block. */
function standIn(token: Token): Token {
  const text = Object.create(Object.getPrototypeOf(token)) as Token;
  return Object.assign(text, token, { type: 'text', content: '\0', map: null, children: null });
}

const LETTERS = /[\p{L}\p{N}]+/gu;

/** Returns the earlier blocks that may have the same text as a block, ignoring markup. */
function alike(at: number, blocks: readonly (Origin | undefined)[], tokens: readonly Token[]): number[] {
  const origin = blocks[at] as Origin;
  const words = textsOf(origin, tokens).flatMap(({ content }) => content.match(LETTERS) ?? []);
  const longest = words.reduce((most, word) => (word.length > most.length ? word : most), '');
  const letters = words.join('');
  const [from, to] = origin.tokens;
  const found: number[] = [];
  for (const [other, one] of blocks.slice(0, at).entries()) {
    if (one === undefined || one.tokens[1] - one.tokens[0] !== to - from) continue;
    if (tokens[one.tokens[0]]?.type !== tokens[from]?.type) continue;
    const texts = textsOf(one, tokens);
    if (!texts.some(({ content }) => content.includes(longest)) && longest !== '') continue;
    if (texts.flatMap(({ content }) => content.match(LETTERS) ?? []).join('') === letters) found.push(other);
  }
  return found;
}

function textsOf(origin: Origin | undefined, tokens: readonly Token[]): Token[] {
  return tokens.slice(...(origin?.tokens ?? [0, 0])).filter(({ type }) => type === 'inline');
}

/** Returns the blocks that have ids, in document order. */
function blocksOf(doc: Doc): DocNode[] {
  const blocks: DocNode[] = [];
  eachBlock(doc, (block) => {
    if (hasId(block)) blocks.push(block);
  });
  return blocks;
}

/** Returns the index of the innermost block on a line, else of the next one below; -1 if there is none. */
function blockAt(blocks: readonly (Origin | undefined)[], line: number): number {
  let found = -1;
  for (const [at, origin] of blocks.entries()) {
    if (origin === undefined) continue;
    const [from, to] = origin.lines;
    if (from > line) return found < 0 ? at : found;
    if (line < to) found = at;
  }
  return found;
}

/** Returns the number of the line, from 0, that an offset lies on. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).match(/\r\n|\r|\n/g)?.length ?? 0;
}
