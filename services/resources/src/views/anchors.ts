import { setImmediate as turn } from 'node:timers/promises';
import type { CallContext } from '@commonplace/kit/rpc';
import { LRUCache } from 'lru-cache';
import { type Doc, findAnchor, type Place } from '../documents/index.js';
import type { Parts } from '../parts.js';
import type { Anchor, Comment } from '../stores/comments.js';
import type { Node } from '../stores/nodes.js';

/** Whether the passage of a comment is in a version of its document; anchors never change. */
const known = new LRUCache<string, boolean>({ maxSize: 50_000, sizeCalculation: () => 1 });

/** The ids of those comments whose passage is in the document as it is now. */
export async function foundAnchors(
  parts: Parts,
  node: Node,
  comments: readonly Comment[],
  context: CallContext,
): Promise<Set<string>> {
  const anchored = comments.filter(({ anchor }) => anchor !== undefined);
  const keyOf = ({ id }: Comment) => `${id}:${node.contentVersion}`;
  const open = anchored.filter((comment) => !known.has(keyOf(comment)));
  if (open.length > 0) {
    const doc = await parts.kinds.document.blocks(node, context);
    for (const comment of open) {
      known.set(keyOf(comment), find(doc, comment.anchor as Anchor) !== undefined);
      // To look through a long document takes milliseconds.
      await turn();
    }
  }
  return new Set(anchored.filter((comment) => known.get(keyOf(comment))).map(({ id }) => id));
}

/** An anchor on the block in which its passage stands now, so that it follows the block. */
export async function onItsBlock(parts: Parts, node: Node, anchor: Anchor, context: CallContext): Promise<Anchor> {
  const place = find(await parts.kinds.document.blocks(node, context), anchor);
  return place === undefined ? anchor : { ...anchor, blockId: place.block_id };
}

function find(doc: Doc, { blockId, ...words }: Anchor): Place | undefined {
  const place = findAnchor(doc, blockId === undefined ? words : { ...words, block_id: blockId });
  return place === 'orphaned' ? undefined : place;
}
