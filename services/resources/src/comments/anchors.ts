import type { CallContext } from '@commonplace/kit/rpc';
import { LRUCache } from 'lru-cache';
import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';
import type { Anchor, Comment } from './records.js';

/**
 * Caches the id of the block that contains the passage of a comment in a version of its document, `''` if none does;
 * anchors never change.
 */
const known = new LRUCache<string, string>({ max: 50_000 });

const keyOf = ({ contentVersion }: Node, { id }: Comment): string => `${id}:${contentVersion}`;

/** Returns the blocks of the current document that contain the passages of comments, by the ids of the comments. */
export async function foundAnchors(
  parts: CommentParts,
  node: Node,
  comments: readonly Comment[],
  context: CallContext,
): Promise<Map<string, string>> {
  const anchored = comments.filter(({ anchor }) => anchor !== undefined);
  const open = anchored.filter((comment) => !known.has(keyOf(node, comment)));
  if (open.length > 0) {
    const anchors = open.map(({ anchor }) => anchor as Anchor);
    const blockIds = await blocksOf(parts, node, anchors, context);
    for (const [i, comment] of open.entries()) known.set(keyOf(node, comment), blockIds[i] ?? '');
  }
  return new Map(
    anchored.flatMap((comment) => {
      const blockId = known.get(keyOf(node, comment));
      return blockId ? [[comment.id, blockId]] : [];
    }),
  );
}

interface PlacedAnchor {
  readonly anchor: Anchor;
  /** Whether a block contains its passage. */
  readonly isFound: boolean;
}

/** Returns an anchor with the id of the block that now contains its passage, so that the anchor follows the block. */
export async function onItsBlock(
  parts: CommentParts,
  node: Node,
  anchor: Anchor,
  context: CallContext,
): Promise<PlacedAnchor> {
  const [blockId] = await blocksOf(parts, node, [anchor], context);
  return blockId === undefined ? { anchor, isFound: false } : { anchor: { ...anchor, blockId }, isFound: true };
}

/** Notes that the passage of a new comment was found, so that its document is not searched again for the answer. */
export function noteFound(node: Node, comment: Comment): void {
  known.set(keyOf(node, comment), comment.anchor?.blockId ?? '');
}

/** Returns the id of the block that contains each passage; undefined if none does. */
async function blocksOf(
  { kinds }: CommentParts,
  node: Node,
  anchors: readonly Anchor[],
  context: CallContext,
): Promise<(string | undefined)[]> {
  const given = anchors.map(({ blockId, ...words }) => ({
    ...words,
    ...(blockId !== undefined && { block_id: blockId }),
  }));
  const places = await kinds.document.places(node, given, context);
  return places.map((place) => (place === 'orphaned' ? undefined : place.block_id));
}
