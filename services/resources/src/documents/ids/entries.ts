import { markKey } from '../model/inline.js';
import { type Doc, type DocNode, hasId, holdsInline } from '../model/model.js';
import { blockText } from '../model/text.js';

/** A block in document order, with the hash that identifies its content. */
export interface Entry {
  readonly node: DocNode;
  /** Hash of the block and everything within it, without ids. */
  readonly hash: number;
}

/** Returns a hash of 53 bits (cyrb53) that distinguishes texts; it is not cryptographic. */
export function hashText(text: string, seed = 0): number {
  let [high, low] = [0xdeadbeef ^ seed, 0x41c6ce57 ^ seed];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

const sorted = (attrs: DocNode['attrs']) => Object.entries(attrs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

const ownKey = (node: DocNode): string =>
  JSON.stringify([node.type, sorted(node.attrs), node.text, node.marks?.map(markKey), node.extra]);

/** Returns all blocks of a document that carry an id, in document order. */
export function entriesOf(doc: Doc): Entry[] {
  const entries: { node: DocNode; hash: number }[] = [];
  const walk = (node: DocNode): number => {
    const entry = { node, hash: 0 };
    if (hasId(node)) entries.push(entry);
    const inner = node.content ?? [];
    const parts = holdsInline(node) ? inner.map(ownKey) : inner.map(walk);
    entry.hash = hashText(`${ownKey(node)}\n${parts.join('\n')}`);
    return entry.hash;
  };
  for (const node of doc.content) walk(node);
  return entries;
}

const MAX_CHARS = 1000;

/** Returns the distinct words in about the first 1000 characters of a block and the blocks within it. */
export function wordsOf(block: DocNode): Set<string> {
  const texts: string[] = [];
  let length = 0;
  const walk = (node: DocNode): void => {
    if (length > MAX_CHARS) return;
    const text = blockText(node).slice(0, MAX_CHARS);
    texts.push(text);
    length += text.length;
    if (node.type !== 'table' && !holdsInline(node)) for (const child of node.content ?? []) walk(child);
  };
  walk(block);
  return new Set(
    texts
      .join(' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [],
  );
}
