import type { TextPlace } from '../domain/text-place.js';
import { blockIds, withBlockIds } from './ids/assign.js';
import { tokenize } from './markdown/parser.js';
import { docOfTokens, type Lines, parseMarkdown } from './markdown/read.js';
import { toMarkdown } from './markdown/write.js';
import { type Doc, type DocNode, eachBlock, hasId } from './model/model.js';

/** Maps each part of a document's Markdown to its block. Finding a block in it parses nothing. */
export interface BlockMap {
  /** Offsets in UTF-16 units at which another block begins, ascending. */
  readonly starts: readonly number[];
  /** Id of the block from each offset on; undefined if there is none. */
  readonly ids: readonly (string | undefined)[];
}

/**
 * Returns the map of a Markdown document's blocks: a line belongs to the innermost block on it, else to the next one
 * below. The ids equal those in the document's JSON. `ids` are the stored ids of all blocks; without them they are
 * derived.
 */
export function mapBlocks(markdown: string, ids?: readonly string[]): BlockMap {
  const lines = new Map<DocNode, Lines>();
  const doc = docOfTokens(tokenize(markdown), lines);
  const nodes: DocNode[] = [];
  eachBlock(doc, (block) => {
    if (hasId(block)) nodes.push(block);
  });
  const known = ids ?? blockIds(withBlockIds(doc));
  if (known.length !== nodes.length) return { starts: [], ids: [] };
  const lineStarts = startsOfLines(markdown);
  const onLine = blocksByLine(nodes, lines, lineStarts.length);
  const map = { starts: [] as number[], ids: [] as (string | undefined)[] };
  for (const [line, start] of lineStarts.entries()) {
    if (line > 0 && onLine[line] === onLine[line - 1]) continue;
    map.starts.push(start);
    map.ids.push(known[onLine[line] as number]);
  }
  return map;
}

/** Does the same as `mapBlocks` for a document in another format, whose Markdown it returns as well. */
export function mapBlocksOfDoc(doc: Doc): BlockMap & { readonly markdown: string } {
  const markdown = toMarkdown(doc);
  const ids = blockIds(withBlockIds(parseMarkdown(markdown), doc));
  return { ...mapBlocks(markdown, ids), markdown };
}

/**
 * Returns the id of the block that holds a place in the Markdown that a map was made of; undefined if there is no such
 * block, or if the expected text is not there.
 */
export function blockAt({ starts, ids }: BlockMap, markdown: string, place: TextPlace): string | undefined {
  const offset = offsetOf(markdown, place);
  if (offset === undefined) return undefined;
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return ids[low - 1];
}

function offsetOf(markdown: string, { offset, text }: TextPlace): number | undefined {
  if (text === '') return undefined;
  if (markdown.startsWith(text, offset)) return offset;
  const elsewhere = markdown.indexOf(text);
  return elsewhere < 0 ? undefined : elsewhere;
}

function startsOfLines(text: string): number[] {
  const starts = [0];
  for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) starts.push(index + end.length);
  return starts;
}

/** Returns for each line the index of the block that it belongs to; -1 if there is no block. */
function blocksByLine(blocks: readonly DocNode[], lines: ReadonlyMap<DocNode, Lines>, count: number): Int32Array {
  const found = new Int32Array(count).fill(-1);
  // Blocks come in document order, so an inner block overwrites the lines of those around it.
  for (const [at, block] of blocks.entries()) {
    const [from, to] = lines.get(block) ?? [0, 0];
    found.fill(at, from, to);
  }
  let below = -1;
  for (let line = count - 1; line >= 0; line--) {
    if (found[line] === -1) found[line] = below;
    else below = found[line] as number;
  }
  return found;
}
