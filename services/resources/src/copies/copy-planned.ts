import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import { copyId, type PlannedCopy } from '../domain/copy.js';
import type { Node, Place } from '../domain/node.js';
import { placeUnder } from '../domain/tree.js';
import type { Batch } from '../tree/trash.js';
import { type CopyTerms, copyNodes } from './copy-nodes.js';
import type { CopyTarget } from './copy-target.js';
import type { CopyParts } from './parts.js';

/** Where copies are put. */
interface Home extends Place {
  readonly id: string;
  /** Set if it is in the trash. */
  readonly batch?: Batch | undefined;
}

/**
 * Adds planned copies to this call's work, each below the current place of its parent's copy. What has gone into the
 * trash since the copy was accepted is copied all the same, and a purge of it waits; below a copy that has, copies join
 * it there. A source that is no longer readable is skipped, and so are copies whose parent copy was purged.
 */
export async function copyPlanned(
  parts: CopyParts,
  key: string,
  planned: readonly PlannedCopy[],
  terms: CopyTerms,
  context: CallContext,
): Promise<Node[]> {
  const found = await sourcesOf(parts, planned);
  const readable = await terms.readable?.(found);
  const sources = new Map(found.filter((_, i) => readable?.[i] ?? true).map((node) => [node.id, node]));
  const { root } = terms;
  const homes = new Map<string, Home | undefined>(root && [[root.to.id, root.to]]);
  const targets: CopyTarget[] = [];
  const breathe = createBreathe(context.signal);
  for (const { id: sourceId, parentId, managed: granted = false, restricted: narrower = false } of planned) {
    const from = sources.get(sourceId);
    const parentKey = parentId === root?.from ? root.to.id : copyId(key, parentId);
    if (!homes.has(parentKey)) homes.set(parentKey, await homeOf(parts, parentKey, context));
    const home = homes.get(parentKey);
    const id = copyId(key, sourceId);
    await breathe();
    if (from === undefined || home === undefined) {
      homes.set(id, undefined);
      continue;
    }
    // A copy shows nothing to people who cannot read its source.
    const restricted = terms.copier !== undefined && (narrower || from.restricted);
    const place = placeUnder(home, { id, restricted });
    const { batch } = home;
    homes.set(id, { ...place, id, batch });
    const { name, position } = from;
    const attachment = from.attachment === true && copyId(key, from.parentKey) === parentKey;
    targets.push({ from, id, place, parentKey, name, position, restricted, granted, attachment, batch });
  }
  await countInTrash(parts, targets, context);
  return copyNodes(parts, targets, terms, context);
}

/** Returns the sources of planned copies; those whose purge waits for this copy as they are stored. */
async function sourcesOf({ tree }: CopyParts, planned: readonly PlannedCopy[]): Promise<Node[]> {
  const stored = await tree.nodes.getMany(planned.map(({ id }) => id));
  const current = new Map((await tree.resolve(stored)).map((node) => [node.id, node]));
  return stored.map((node) => current.get(node.id) ?? node);
}

/** Returns the place of a parent's copy from an earlier piece; conflicts with a concurrent move or deletion of it. */
async function homeOf(parts: CopyParts, id: string, { work }: CallContext): Promise<Home | undefined> {
  const stored = await parts.tree.nodes.get(id);
  const node = await parts.tree.get(id, work);
  if (node === undefined) return undefined;
  if (stored !== undefined) work.expect(parts.tree.nodes, node);
  const batch = node.state === 'active' ? undefined : await batchOf(parts, node, work);
  const { tenant, orgId, workspaceId, ancestors, boundary } = node;
  return { id, tenant, orgId, workspaceId, ancestors, boundary, batch };
}

/** Returns the batch that a node in the trash belongs to, from itself or from the nearest ancestor that names one. */
async function batchOf(parts: CopyParts, node: Node, work: UnitOfWork): Promise<Batch | undefined> {
  const above = await parts.tree.getMany(node.ancestors);
  const holder = [...above, node].findLast(({ batchId }) => batchId !== undefined);
  if (holder?.trash === undefined) return undefined;
  // Conflicts with a concurrent restore, so that no copy stays behind.
  if (holder !== node) work.expect(parts.tree.nodes, holder);
  const { batchId, trashedAt, purgeAt, trash } = holder;
  return { batchId: batchId as string, at: trashedAt as string, purgeAt: purgeAt as string, by: trash.by };
}

/** Adds copies in the trash to the number of descendants that the head of their batch is restored with. */
async function countInTrash({ tree }: CopyParts, targets: readonly CopyTarget[], { work }: CallContext): Promise<void> {
  for (const batchId of new Set(targets.flatMap(({ batch }) => batch?.batchId ?? []))) {
    const some = targets.filter(({ batch }) => batch?.batchId === batchId);
    const ancestors = [...new Set(some.flatMap(({ place }) => place.ancestors))];
    const known = await Promise.all(ancestors.map((id) => work.get(tree.nodes, id)));
    const head = known.find((one) => one?.trashHead === true && one.batchId === batchId);
    if (head?.trash === undefined) continue;
    const trash = { ...head.trash, descendants: head.trash.descendants + some.length };
    work.replace(tree.nodes, head, { ...head, trash });
  }
}
