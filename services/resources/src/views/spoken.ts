import { parseMarkdown, toText } from '../documents/index.js';
import type { Parts } from '../parts.js';
import { COMMENT_ORDER, type Comment } from '../stores/comments.js';
import type { Node } from '../stores/nodes.js';

/** Comments that are read for many documents at once; where there are more, each document's by itself. */
const MOST_AT_ONCE = 500;
/** The latest comments of one document that are told. */
const MOST_TOLD = 500;
const LATEST_FIRST = COMMENT_ORDER.map((field) => `-${field}` as const);
/** Markdown that is more than words. */
const MARKED = /[\\`*_[\]<>#&~$|:!+-]|^\s*\d+[.)]/m;

/** What the comments on some nodes say, as plain text, the latest first; one query where there are none. */
export async function spokenOn({ comments }: Parts, nodes: readonly Node[]): Promise<Map<string, string[]>> {
  const ids = nodes.filter(({ type }) => type === 'document').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const some = await comments.find({ where: { resourceId: { in: ids } }, limit: MOST_AT_ONCE });
  if (some.length < MOST_AT_ONCE) return texts(some.sort(latestFirst));
  const told = new Map<string, string[]>();
  for (const resourceId of ids) {
    const latest = await comments.find({ where: { resourceId }, sort: LATEST_FIRST, limit: MOST_TOLD });
    for (const [id, said] of texts(latest)) told.set(id, said);
  }
  return told;
}

/** As the store sorts by `LATEST_FIRST`: what was made in the same millisecond by its id. */
function latestFirst(a: Comment, b: Comment): number {
  for (const field of [...COMMENT_ORDER, 'id'] as const) {
    if (a[field] !== b[field]) return a[field] > b[field] ? -1 : 1;
  }
  return 0;
}

function texts(comments: readonly Comment[]): Map<string, string[]> {
  const said = new Map<string, string[]>();
  for (const { resourceId, body } of comments) {
    if (body === undefined) continue;
    const text = MARKED.test(body) ? toText(parseMarkdown(body)).trim() : body;
    const before = said.get(resourceId);
    if (before === undefined) said.set(resourceId, [text]);
    else before.push(text);
  }
  return said;
}
