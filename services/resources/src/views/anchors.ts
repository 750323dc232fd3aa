import { LRUCache } from 'lru-cache';
import { readText } from '../acts/content.js';
import type { Parts } from '../parts.js';
import type { Anchor, Comment } from '../stores/comments.js';
import type { Node } from '../stores/nodes.js';

/** Whether the passage of a comment is in a version of its document; anchors never change. */
const known = new LRUCache<string, boolean>({ max: 50_000 });

/** The ids of those comments whose passage is in the document as it is now. */
export async function foundAnchors(parts: Parts, node: Node, comments: readonly Comment[]): Promise<Set<string>> {
  const anchored = comments.filter(({ anchor }) => anchor !== undefined);
  const keyOf = ({ id }: Comment) => `${id}:${node.contentVersion}`;
  const open = anchored.filter((comment) => !known.has(keyOf(comment)));
  if (open.length > 0) {
    const text = await readText(parts, node);
    for (const comment of open) known.set(keyOf(comment), holds(text, comment.anchor as Anchor));
  }
  return new Set(anchored.filter((comment) => known.get(keyOf(comment))).map(({ id }) => id));
}

function holds(text: string, { quote }: Anchor): boolean {
  const squeeze = (one: string) => one.replace(/\s+/gu, ' ');
  return squeeze(text).includes(squeeze(quote).trim());
}
