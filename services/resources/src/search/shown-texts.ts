import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { ShownText } from '@commonplace/proto/resources/v1/index_service.js';
import { namesHidden } from '../comments/bodies.js';
import { commentBodies } from '../comments/comment-texts.js';
import type { Node } from '../domain/node.js';
import { textsOf } from '../kinds.js';
import type { SearchParts } from './parts.js';
import { pagePortions } from './portions.js';

const MAX_INT32 = 2 ** 31 - 1;

/** The documents of a page of results, and those of them whose comments are not shown. */
interface Asked {
  readonly ids: readonly string[];
  readonly textOnly: ReadonlySet<string>;
}

/**
 * Returns the texts of those documents that name resources which are hidden from the caller, with placeholders. Of
 * documents beyond the bytes that are read for one page of results, nothing is shown.
 */
export async function shownTexts(
  parts: SearchParts,
  { ids, textOnly }: Asked,
  context: CallContext,
): Promise<ShownText[]> {
  const documents = (await parts.tree.getMany(ids)).filter(({ type }) => type === 'document');
  const nodes = documents.filter((node) => !(textOnly.has(node.id) && parts.nameless.has(node)));
  const breathe = createBreathe(context.signal);
  const shown: ShownText[] = [];
  for (const { nodes: portion, isBeyond } of pagePortions(nodes)) {
    if (isBeyond) shown.push(...portion.map(withNothingShown));
    else shown.push(...(await shownAmong(parts, { nodes: portion, textOnly }, context)));
    await breathe();
  }
  return shown;
}

function withNothingShown({ id }: Node): ShownText {
  return { resourceId: id, text: '', start: 0, end: 0, formerEnd: MAX_INT32, comments: [] };
}

/** Checks all names in some documents at once, since most documents name none. */
async function shownAmong(
  parts: SearchParts,
  { nodes, textOnly }: Pick<Asked, 'textOnly'> & { readonly nodes: readonly Node[] },
  context: CallContext,
): Promise<ShownText[]> {
  const texts = await textsOf(parts.kinds, nodes);
  for (const node of nodes) parts.nameless.note(node, texts.get(node.id) ?? '');
  const comments = await commentBodies(
    parts,
    nodes.filter(({ id }) => !textOnly.has(id)),
  );
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
    const requester = { tenant: node.tenant, deadline: context.deadline };
    const plain: string[] = [];
    for (const body of bodies) {
      plain.push(await parts.bodies.plain(requester, await parts.bodies.shown(requester, body, hidden)));
    }
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
