import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';
import { COMMENT_ORDER, type Comment } from './records.js';

/** Maximum number of comments read for many documents at once; if there are more, each document is read separately. */
const MAX_PER_QUERY = 500;
/** Maximum number of comments of one document; the latest ones are returned. */
const MAX_PER_DOCUMENT = 500;
const LATEST_FIRST = COMMENT_ORDER.map((field) => `-${field}` as const);

/** Returns the comments on some nodes as plain text by node id, latest first. Costs one query if there are none. */
export async function commentTexts(parts: CommentParts, nodes: readonly Node[]): Promise<Map<string, string[]>> {
  const found = await commentBodies(parts, nodes);
  const texts = new Map<string, string[]>();
  for (const { id, tenant } of nodes) {
    const plain: string[] = [];
    for (const body of found.get(id) ?? []) plain.push(await parts.bodies.plain(tenant, body));
    if (plain.length > 0) texts.set(id, plain);
  }
  return texts;
}

/** Returns the bodies of the comments on some nodes by node id, latest first. Costs one query if there are none. */
export async function commentBodies(
  { comments }: Pick<CommentParts, 'comments'>,
  nodes: readonly Node[],
): Promise<Map<string, string[]>> {
  const ids = nodes.filter(({ type }) => type === 'document').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const some = await comments.find({ where: { resourceId: { in: ids } }, limit: MAX_PER_QUERY });
  if (some.length < MAX_PER_QUERY) return bodiesOf(some.sort(latestFirst));
  const found = new Map<string, string[]>();
  for (const resourceId of ids) {
    const latest = await comments.find({ where: { resourceId }, sort: LATEST_FIRST, limit: MAX_PER_DOCUMENT });
    for (const [id, bodies] of bodiesOf(latest)) found.set(id, bodies);
  }
  return found;
}

/** Compares comments like `LATEST_FIRST` in the store; those of the same millisecond by id. */
function latestFirst(a: Comment, b: Comment): number {
  for (const field of [...COMMENT_ORDER, 'id'] as const) {
    if (a[field] !== b[field]) return a[field] > b[field] ? -1 : 1;
  }
  return 0;
}

function bodiesOf(comments: readonly Comment[]): Map<string, string[]> {
  const byDocument = new Map<string, string[]>();
  for (const { resourceId, body } of comments) {
    if (body === undefined) continue;
    const before = byDocument.get(resourceId);
    if (before === undefined) byDocument.set(resourceId, [body]);
    else before.push(body);
  }
  return byDocument;
}
