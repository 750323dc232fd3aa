import type { CallContext } from '@commonplace/kit/rpc';
import type { ShownText } from '@commonplace/proto/resources/v1/index_service.js';
import { commentBodies, plainBody } from '../comments/comment-texts.js';
import { namesHidden, shownBody } from '../comments/shown-body.js';
import { textsOf } from '../kinds.js';
import type { SearchParts } from './parts.js';

/**
 * Returns the texts of those documents that name resources which are hidden from the caller, with placeholders. All
 * names are checked at once, since most documents name none.
 */
export async function shownTexts(
  parts: SearchParts,
  ids: readonly string[],
  context: CallContext,
): Promise<ShownText[]> {
  const nodes = (await parts.tree.getMany(ids)).filter(({ type }) => type === 'document');
  const texts = await textsOf(parts.kinds, nodes);
  const comments = await commentBodies(parts, nodes);
  const all = [...texts.values(), ...[...comments.values()].flat()];
  const hidden = new Set(await parts.hidden.in(context, all.join('\n')));
  if (hidden.size === 0) return [];
  const subject = await parts.policy.subject(context);
  const shown: ShownText[] = [];
  for (const node of nodes) {
    const [before, bodies] = [texts.get(node.id) ?? '', comments.get(node.id) ?? []];
    const isNamed = namesHidden(before, hidden);
    if (!isNamed && !bodies.some((body) => namesHidden(body, hidden))) continue;
    const text = isNamed ? endingLike(before, await parts.kinds.document.shownText(node, subject)) : before;
    const plain = bodies.map((body) => plainBody(shownBody(body, hidden)));
    shown.push({ resourceId: node.id, text, ...differenceOf(before, text), comments: plain });
  }
  return shown;
}

/** Returns a text with the white space at the end of another, so that only references make them differ. */
function endingLike(other: string, text: string): string {
  return text.trimEnd() + other.slice(other.trimEnd().length);
}

/** Returns the part of a text that differs from the one before, and where that part ended before. */
function differenceOf(before: string, after: string): Pick<ShownText, 'start' | 'end' | 'formerEnd'> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let same = 0;
  while (
    same < shorter - start &&
    before.charCodeAt(before.length - 1 - same) === after.charCodeAt(after.length - 1 - same)
  ) {
    same++;
  }
  return { start, end: after.length - same, formerEnd: before.length - same };
}
