import { setImmediate as turn } from 'node:timers/promises';
import type { CallContext } from '@commonplace/kit/rpc';
import { LRUCache } from 'lru-cache';
import { type Doc, findAnchor, type Place } from '../documents/index.js';
import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';
import type { Anchor, Comment } from './records.js';

/**
 * Caches the id of the block that contains the passage of a comment in a version of its document, `''` if none does;
 * anchors never change.
 */
const known = new LRUCache<string, string>({ max: 50_000 });

/** Returns the blocks of the current document that contain the passages of comments, by the ids of the comments. */
export async function foundAnchors(
  parts: CommentParts,
  node: Node,
  comments: readonly Comment[],
  context: CallContext,
): Promise<Map<string, string>> {
  const anchored = comments.filter(({ anchor }) => anchor !== undefined);
  const keyOf = ({ id }: Comment) => `${id}:${node.contentVersion}`;
  const open = anchored.filter((comment) => !known.has(keyOf(comment)));
  if (open.length > 0) {
    const doc = await parts.kinds.document.blocks(node, context);
    for (const comment of open) {
      known.set(keyOf(comment), find(doc, comment.anchor as Anchor)?.block_id ?? '');
      // Searching a long document takes milliseconds, so other requests get a turn in between.
      await turn();
    }
  }
  return new Map(
    anchored.flatMap((comment) => {
      const blockId = known.get(keyOf(comment));
      return blockId ? [[comment.id, blockId]] : [];
    }),
  );
}

/** Returns an anchor with the id of the block that now contains its passage, so that the anchor follows the block. */
export async function onItsBlock(
  parts: CommentParts,
  node: Node,
  anchor: Anchor,
  context: CallContext,
): Promise<Anchor> {
  const place = find(await parts.kinds.document.blocks(node, context), anchor);
  return place === undefined ? anchor : { ...anchor, blockId: place.block_id };
}

function find(doc: Doc, { blockId, ...words }: Anchor): Place | undefined {
  const place = findAnchor(doc, blockId === undefined ? words : { ...words, block_id: blockId });
  return place === 'orphaned' ? undefined : place;
}
