import { blockIds, derivedId, withBlockIds } from './ids/assign.js';
import { hashBlock } from './ids/entries.js';
import { type Token, tokenizeBlocks, tokenizeInline } from './markdown/parser.js';
import { docOfTokens, type Origin, parseMarkdown, tellsBlock } from './markdown/read.js';
import { toMarkdown } from './markdown/write.js';
import { type Doc, type DocNode, eachBlock, hasId } from './model.js';

/** A place in a text: an offset in UTF-16 units, and the first characters of what stands there. */
export interface TextPlace {
  readonly offset: number;
  readonly text: string;
}

/**
 * The ids of the innermost blocks in which places of a document's Markdown lie; undefined where there is none such, or
 * where what should stand at the place does not. They are the ids that the document's blocks have as JSON.
 *
 * Only the blocks are read, and of the text within them no more than tells the ids that are asked for: a third of the
 * time of `parseMarkdown`. `ids` are those of all blocks, where they are kept; they are derived else.
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
    // Equal blocks are told apart by their order, so that whatever could be equal to this one is read as well.
    const equal = alike(at, blocks, tokens).filter((other) => {
      const one = whole(other);
      return one !== undefined && hashBlock(one) === hash;
    });
    return derivedId(hash, equal.length);
  });
}

/** The same for a document that was not written as Markdown; `doc` has ids. */
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

/** Stands for the text of a block that is not read. */
function standIn(token: Token): Token {
  const text = Object.create(Object.getPrototypeOf(token)) as Token;
  return Object.assign(text, token, { type: 'text', content: '\0', map: null, children: null });
}

const LETTERS = /[\p{L}\p{N}]+/gu;

/** Those of the blocks before one that may read as it does, however they are marked up. */
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

/** The blocks that have ids, in document order. */
function blocksOf(doc: Doc): DocNode[] {
  const blocks: DocNode[] = [];
  eachBlock(doc, (block) => {
    if (hasId(block)) blocks.push(block);
  });
  return blocks;
}

/** The innermost block on a line, else the next one below; -1 where there is none. */
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

/** The number of the line that an offset lies on. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).match(/\r\n|\r|\n/g)?.length ?? 0;
}
