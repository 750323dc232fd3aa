import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { MAX_DEPTH } from '../../config.js';
import { mayHaveChildren, type Node } from '../../domain/node.js';
import { keyBetween } from '../../domain/position.js';
import { isContainer } from '../../domain/tree.js';
import { DepthExceeded, ParentNotContainer } from '../../errors.js';
import type { AccessSubject } from '../../policy.js';
import { type Destination, intoParent, intoRoot, requireSameWorkspace } from '../../tree/destination.js';
import type { TransferParts } from '../parts.js';

/** A parent for items, with the sort key of its last child. */
interface Home {
  readonly destination: Destination;
  last: string | null;
}

interface ItemPlace {
  readonly destination: Destination;
  readonly position: string;
}

/** Finds parents for the items of one call; each parent is looked up once. */
export interface ImportHomes {
  /**
   * Reserves the next position below a parent, or at the root. Throws the errors that a creation there would be refused
   * with.
   */
  next(parentId: string | undefined): Promise<ItemPlace>;
  /** Registers a node that this call has created, so that items can be put below it. */
  add(node: Node): void;
  /** Registers a resource that this call has changed, so that items can be put below it. */
  change(id: string): void;
  /** Registers a refused item, so that items below it are refused too. */
  refuse(id: string): void;
}

export function createImportHomes(
  parts: TransferParts,
  workspaceId: string,
  subject: AccessSubject,
  context: CallContext,
): ImportHomes {
  const homes = new Map<string, Home | AppError>();
  const made = new Map<string, Node>();
  const changed = new Set<string>();

  async function open(parentId: string | undefined): Promise<Home> {
    const node = parentId === undefined ? undefined : made.get(parentId);
    if (node !== undefined) return { destination: intoMade(parts, node, context), last: null };
    const destination =
      parentId === undefined
        ? await intoRoot(parts, workspaceId, subject, context)
        : changed.has(parentId)
          ? await intoChanged(parts, parentId, subject, context)
          : await intoParent(parts, parentId, subject, context);
    requireSameWorkspace(destination, workspaceId);
    const siblings = { parentKey: destination.key, state: 'active' } as const;
    return { destination, last: (await parts.tree.nodes.max('position', siblings)) ?? null };
  }

  async function homeOf(parentId: string | undefined): Promise<Home> {
    const key = parentId ?? workspaceId;
    const known = homes.get(key);
    if (known instanceof AppError) throw known;
    if (known !== undefined) return known;
    try {
      const home = await open(parentId);
      homes.set(key, home);
      return home;
    } catch (error) {
      if (error instanceof AppError) homes.set(key, error);
      throw error;
    }
  }

  return {
    async next(parentId) {
      const home = await homeOf(parentId);
      if (home.destination.depth + 1 > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
      home.last = keyBetween(home.last, null);
      return { destination: home.destination, position: home.last };
    },
    add: (node) => void made.set(node.id, node),
    change: (id) => void changed.add(id),
    refuse: (id) => void homes.set(id, new AppError('ABORTED', 'parent_failed', 'Its parent was not imported.')),
  };
}

/** Returns a destination for children of a node from this same call, which no other call can have changed. */
function intoMade(parts: TransferParts, node: Node, { work }: CallContext): Destination {
  if (!isContainer(node.type)) throw ParentNotContainer({ type: node.type });
  const parent = mayHaveChildren(node) ? node : work.replace(parts.tree.nodes, node, { ...node, parented: true });
  return { parent, node: parent, key: node.id, depth: node.ancestors.length + 1 };
}

/**
 * Returns a destination for children of a node that this same call has changed. That change already conflicts with those
 * of other calls; a condition on the version that is stored could never hold.
 */
async function intoChanged(
  parts: TransferParts,
  id: string,
  subject: AccessSubject,
  context: CallContext,
): Promise<Destination> {
  const { work } = context;
  const { nodes } = parts.tree;
  const destination = await intoParent(parts, id, subject, context, true);
  const node = await work.get(nodes, id);
  if (node !== undefined && !mayHaveChildren(node)) work.replace(nodes, node, { ...node, parented: true });
  return destination;
}
