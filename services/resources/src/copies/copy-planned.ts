import type { CallContext } from '@commonplace/kit/rpc';
import { copyId, type PlannedCopy } from '../domain/copy.js';
import type { Node, Place } from '../domain/node.js';
import { placeUnder } from '../domain/tree.js';
import { type CopyTerms, copyNodes } from './copy-nodes.js';
import type { CopyTarget } from './copy-target.js';
import type { CopyParts } from './parts.js';

type Home = Place & { readonly id: string };

/**
 * Adds planned copies to this call's work, each below the current place of its parent's copy. A source that is gone or
 * no longer readable is skipped, and so are copies whose parent copy is gone.
 */
export async function copyPlanned(
  parts: CopyParts,
  key: string,
  planned: readonly PlannedCopy[],
  terms: CopyTerms,
  context: CallContext,
): Promise<Node[]> {
  const found = await parts.tree.getMany(planned.map(({ id }) => id));
  const live = found.filter(({ state }) => state === 'active');
  const readable = await terms.readable?.(live);
  const sources = new Map(live.filter((_, i) => readable?.[i] ?? true).map((node) => [node.id, node]));
  const { root } = terms;
  const homes = new Map<string, Home | undefined>(root && [[root.to.id, root.to]]);
  const targets: CopyTarget[] = [];
  for (const { id: sourceId, parentId, managed: granted = false } of planned) {
    const from = sources.get(sourceId);
    const parentKey = parentId === root?.from ? root.to.id : copyId(key, parentId);
    if (!homes.has(parentKey)) homes.set(parentKey, await homeOf(parts, parentKey, context));
    const home = homes.get(parentKey);
    const id = copyId(key, sourceId);
    if (from === undefined || home === undefined) {
      homes.set(id, undefined);
      continue;
    }
    const restricted = terms.grants !== undefined && granted && from.restricted;
    const place = placeUnder(home, { id, restricted });
    homes.set(id, { ...place, id });
    const { name, position } = from;
    const attachment = from.attachment === true && copyId(key, from.parentKey) === parentKey;
    targets.push({ from, id, place, parentKey, name, position, restricted, granted, attachment });
  }
  return copyNodes(parts, targets, terms, context);
}

/** Returns the place of a parent's copy from an earlier piece; conflicts with a concurrent move or deletion of it. */
async function homeOf(parts: CopyParts, id: string, { work }: CallContext): Promise<Home | undefined> {
  const stored = await parts.tree.nodes.get(id);
  const node = await parts.tree.get(id, work);
  if (node?.state !== 'active') return undefined;
  if (stored !== undefined) work.expect(parts.tree.nodes, node);
  return node;
}
