import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import { keysBetween, parsePosition, type RequestedPosition, randomKeyBetween } from '../domain/position.js';
import { publishChange } from '../events.js';
import type { Tree } from '../nodes/tree.js';
import type { AccessSubject } from '../policy.js';
import type { TreeParts } from './parts.js';

/** What is put among siblings. */
interface Placing {
  /** Id of a node that exists already. */
  readonly id?: string;
  /** Whether nothing is to be written. */
  readonly dryRun?: boolean;
  /** Returns whether the caller can see a node; without it they can see all. */
  readonly sees?: (node: Node) => Promise<boolean>;
}

/** Maximum number of siblings with one key that are given keys of their own; there are that many children at most. */
const MAX_TIED = 10_000;

/**
 * Returns the sort key for the `position` of a request, like `positionFor`. A sibling that the caller cannot see is
 * answered like one that does not exist.
 */
export function requestedPosition(
  { tree, policy }: Pick<TreeParts, 'tree' | 'policy'>,
  parentKey: string,
  position: Buffer,
  subject: AccessSubject,
  context: Pick<CallContext, 'work' | 'event'>,
  placing: Omit<Placing, 'sees'> = {},
): Promise<string> {
  const sees = async (node: Node) => (await policy.accessTo(node, subject)) !== undefined;
  return positionFor(tree, parentKey, parsePosition(position), context, { ...placing, sees });
}

/**
 * Returns the sort key for a position among the children of a parent or of a workspace's root. Where siblings beside it
 * have one key, those that come later get new ones in this call's work. Throws `invalid_value` if the named sibling is
 * not there.
 */
export async function positionFor(
  { nodes }: Tree,
  parentKey: string,
  wanted: RequestedPosition,
  context: Pick<CallContext, 'work' | 'event'>,
  { id: ownId, dryRun = false, sees = async () => true }: Placing = {},
): Promise<string> {
  const siblings = { parentKey, state: 'active' } as const;
  if ('at' in wanted) {
    if (wanted.at === 'last') return randomKeyBetween((await nodes.max('position', siblings)) ?? null, null);
    const [first] = await nodes.find({ where: siblings, sort: ['position'], limit: 1 });
    return randomKeyBetween(null, first?.position ?? null);
  }
  const id = 'after' in wanted ? wanted.after : wanted.before;
  const sibling = await context.work.get(nodes, id);
  const isThere = sibling?.parentKey === parentKey && sibling.state === 'active' && (await sees(sibling));
  if (!isThere) {
    throw invalidField('position', 'invalid_value', 'position names a resource that is not among the siblings.');
  }
  const after = [sibling.position, sibling.id];
  const sort = 'after' in wanted ? (['position'] as const) : (['-position'] as const);
  const [next] = await nodes.find({ where: siblings, sort, after, limit: 1 });
  const neighbour = next?.position ?? null;
  if (neighbour !== sibling.position) {
    return 'after' in wanted
      ? randomKeyBetween(sibling.position, neighbour)
      : randomKeyBetween(neighbour, sibling.position);
  }
  const tied = await nodes.find({
    where: { ...siblings, position: sibling.position },
    sort: ['position'],
    limit: MAX_TIED,
  });
  const at = tied.findIndex((one) => one.id === sibling.id) + ('after' in wanted ? 1 : 0);
  const later = tied.slice(at).filter((one) => one.id !== ownId);
  const last = tied.at(-1) as Node;
  const [beyond] = await nodes.find({ where: siblings, sort: ['position'], after: [last.position, last.id], limit: 1 });
  const [key = '', ...keys] = keysBetween(sibling.position, beyond?.position ?? null, later.length + 1);
  if (!dryRun) await setPositions(nodes, later, keys, context);
  return key;
}

/** Gives nodes new sort keys. */
async function setPositions(
  nodes: Tree['nodes'],
  found: readonly Node[],
  positions: readonly string[],
  context: Pick<CallContext, 'work' | 'event'>,
): Promise<void> {
  const { work } = context;
  const written: Node[] = [];
  for (const [i, one] of found.entries()) {
    const node = (await work.get(nodes, one.id)) ?? one;
    written.push(work.replace(nodes, node, { ...node, position: positions[i] as string }));
  }
  const [first, ...others] = written;
  if (first !== undefined) publishChange(context, { verb: 'resource.updated', fields: ['position'] }, first, others);
}
