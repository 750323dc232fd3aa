import type { Where } from '@commonplace/kit/store';
import type { PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Parts } from '../parts.js';
import type { Node, NodeType } from '../stores/nodes.js';

/** Records that are read to be sorted, at the most. */
const MOST = 2000;

/**
 * All nodes of some types in a workspace that match, where these types are few there: they are found by their type, and
 * in no order. Undefined where they are many, of which it takes fewer to read on in the order asked for until the page
 * is full. Few are as many as would be read so at an even spread.
 */
export async function fewOfTypes(
  { tree, counters }: Parts,
  types: readonly NodeType[],
  where: Where<Node> & Pick<Node, 'workspaceId' | 'state'>,
  { limit, offset }: PageRequest,
): Promise<Node[] | undefined> {
  const { workspaceId, state } = where;
  const type = { in: [...types] };
  const few = Math.min(MOST, Math.ceil(Math.sqrt((offset + limit + 1) * (await counters.ofWorkspace(workspaceId)))));
  const there = await tree.nodes.count({ workspaceId, state, type }, few + 1);
  return there > few ? undefined : tree.nodes.find({ where: { ...where, type }, limit: few + 1 });
}
