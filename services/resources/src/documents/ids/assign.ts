import { type Doc, type DocNode, eachBlock, hasId, holdsInline } from '../model/model.js';
import { entriesOf, hashText } from './entries.js';
import { matchEntries } from './match.js';

/** Copies a document with the ids that `idOf` returns for its blocks, called in document order. */
function mapIds(doc: Doc, idOf: (block: DocNode) => string | undefined): Doc {
  const map = (node: DocNode): DocNode => {
    const { id: _, ...rest } = node;
    const id = hasId(node) ? idOf(node) : undefined;
    const copy: DocNode = id === undefined ? rest : { id, ...rest };
    if (node.content !== undefined && !holdsInline(node)) copy.content = node.content.map(map);
    return copy;
  };
  return { type: 'doc', content: doc.content.map(map) };
}

/** Derives a block's id from its hash and the number of equal blocks before it. */
function derivedId(hash: number, before: number): string {
  return `b${hashText(String(hash), before).toString(36).padStart(11, '0')}`;
}

/** Creates a function that derives unused ids from hashes: the same sequence of hashes gives the same ids. */
function createMint(used: Set<string>) {
  const counts = new Map<number, number>();
  return (hash: number): string => {
    for (let count = counts.get(hash) ?? 0; ; count += 1) {
      const id = derivedId(hash, count);
      if (used.has(id)) continue;
      counts.set(hash, count + 1);
      used.add(id);
      return id;
    }
  };
}

/**
 * Gives every block a unique id. A block keeps an id that it has; of two equal ids the first block keeps it. Ids of
 * `before` go to the blocks that were there, whether unchanged, moved or edited. The others get derived ids, equal for
 * equal input, and never one that `before` has used.
 */
export function withBlockIds(doc: Doc, before?: Doc): Doc {
  const entries = entriesOf(doc);
  const own = new Map<string, DocNode>();
  for (const { node } of entries) if (node.id !== undefined && !own.has(node.id)) own.set(node.id, node);
  const ids = new Map<DocNode, string>([...own].map(([id, node]) => [node, id]));
  const used = new Set(own.keys());
  if (before !== undefined) {
    const open = entries.filter(({ node }) => !ids.has(node));
    const old = entriesOf(before).filter(({ node }) => node.id !== undefined && !used.has(node.id));
    const pairs = matchEntries(open, old);
    open.forEach(({ node }, index) => {
      const id = old[pairs[index] ?? -1]?.node.id;
      if (id !== undefined && !used.has(id)) {
        ids.set(node, id);
        used.add(id);
      }
    });
    for (const { node } of old) if (node.id !== undefined) used.add(node.id);
  }
  const mint = createMint(used);
  for (const { node, hash } of entries) if (!ids.has(node)) ids.set(node, mint(hash));
  return mapIds(doc, (block) => ids.get(block));
}

/** Returns the ids of all blocks in document order; empty for a block without one. */
export function blockIds(doc: Doc): string[] {
  const ids: string[] = [];
  eachBlock(doc, (block) => {
    if (hasId(block)) ids.push(block.id ?? '');
  });
  return ids;
}

/** Assigns ids that {@link blockIds} returned for a document of the same text; missing ones are derived. */
export function applyBlockIds(doc: Doc, ids: readonly string[]): Doc {
  let index = 0;
  const filled = mapIds(doc, (block) => ids[index++] || block.id);
  return withBlockIds(filled);
}
