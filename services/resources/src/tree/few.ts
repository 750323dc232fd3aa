import type { Where } from '@commonplace/kit/store';
import type { PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Node, NodeType } from '../domain/node.js';
import type { TreeParts } from './parts.js';

/** Maximum number of records that are read to be sorted in memory. */
const MAX_OF_TYPES = 2000;

/**
 * Returns all matching nodes of some types in a workspace, unsorted, if these types are rare there; they are then found
 * by the index on types. Returns undefined if they are not rare: reading in the requested order then fills the page
 * with fewer reads. The threshold is where both ways read equally many records if the types are spread evenly.
 */
export async function fewOfTypes(
  { tree, counters }: TreeParts,
  types: readonly NodeType[],
  where: Where<Node> & Pick<Node, 'workspaceId' | 'state'>,
  { limit, offset }: PageRequest,
): Promise<Node[] | undefined> {
  const { workspaceId, state } = where;
  const type = { in: [...types] };
  const few = Math.min(
    MAX_OF_TYPES,
    Math.ceil(Math.sqrt((offset + limit + 1) * (await counters.ofWorkspace(workspaceId)))),
  );
  const there = await tree.nodes.count({ workspaceId, state, type }, few + 1);
  return there > few ? undefined : tree.nodes.find({ where: { ...where, type }, anyOrder: true, limit: few + 1 });
}

/** Maximum number of records with a text in their names that are read to be sorted in memory. */
const MAX_OF_NAME = 500;

/**
 * Returns all matching nodes whose names contain a text, unsorted, if there are few; the index on names finds them
 * without reading the others. Returns undefined if there are many: reading in the requested order then fills the page
 * soon.
 */
export async function fewOfName(
  { tree }: TreeParts,
  where: Where<Node> & Pick<Node, 'workspaceId' | 'state'>,
): Promise<Node[] | undefined> {
  const found = await tree.nodes.find({ where, sort: ['nameFold'], limit: MAX_OF_NAME + 1 });
  return found.length > MAX_OF_NAME ? undefined : found;
}
