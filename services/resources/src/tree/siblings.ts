import { invalidField } from '@commonplace/kit/errors';
import type { UnitOfWork } from '@commonplace/kit/store';
import { keyBetween, type RequestedPosition } from '../domain/position.js';
import type { Tree } from '../nodes/tree.js';

/**
 * Returns the sort key for a position among the children of a parent or of a workspace's root. Throws `invalid_value`
 * if the named sibling is not there.
 */
export async function positionFor(
  tree: Tree,
  parentKey: string,
  wanted: RequestedPosition,
  work: UnitOfWork,
): Promise<string> {
  const siblings = { parentKey, state: 'active' } as const;
  const { nodes } = tree;
  if ('at' in wanted) {
    if (wanted.at === 'last') return keyBetween((await nodes.max('position', siblings)) ?? null, null);
    const [first] = await nodes.find({ where: siblings, sort: ['position'], limit: 1 });
    return keyBetween(null, first?.position ?? null);
  }
  const id = 'after' in wanted ? wanted.after : wanted.before;
  const sibling = await work.get(nodes, id);
  if (sibling === undefined || sibling.parentKey !== parentKey || sibling.state !== 'active') {
    throw invalidField('position', 'invalid_value', 'position names a resource that is not among the siblings.');
  }
  const after = [sibling.position, sibling.id];
  const sort = 'after' in wanted ? (['position'] as const) : (['-position'] as const);
  const [next] = await nodes.find({ where: siblings, sort, after, limit: 1 });
  const neighbour = next?.position ?? null;
  return 'after' in wanted ? keyBetween(sibling.position, neighbour) : keyBetween(neighbour, sibling.position);
}
