import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node, Place } from '../domain/node.js';
import { restored, samePlace } from '../domain/tree.js';
import type { NodeParts } from './parts.js';

type WriteParts = Pick<NodeParts, 'tree' | 'counters'>;

/** A node as it was read, and as it is to be. */
export interface NodeChange {
  readonly before: Node;
  readonly after: Omit<Node, 'version'>;
}

/** Writes a node that was read, as `replaceNodes` does. Returns the written node. */
export function replaceNode(parts: WriteParts, work: UnitOfWork, before: Node, after: NodeChange['after']): Node {
  const change = { before, after };
  const stored = inStore(parts, change);
  parts.counters.replace(work, [stored]);
  return replaceStored(parts, work, change, stored);
}

/**
 * Writes nodes that were read, and moves them between the counters; lets other requests run in between. While a job
 * rewrites a large subtree, the record of a node has a former place or state: what a change leaves as it is stays so in
 * the record, and is left to the job.
 */
export async function replaceNodes(
  parts: WriteParts,
  work: UnitOfWork,
  changes: readonly NodeChange[],
): Promise<Node[]> {
  const all = changes.map((change) => ({ change, stored: inStore(parts, change) }));
  parts.counters.replace(
    work,
    all.map(({ stored }) => stored),
  );
  const breathe = createBreathe();
  const written: Node[] = [];
  for (const { change, stored } of all) {
    written.push(replaceStored(parts, work, change, stored));
    await breathe();
  }
  return written;
}

/** Returns a change of a node as a change of its record. */
function inStore({ tree }: WriteParts, { before, after }: NodeChange): NodeChange {
  const record = tree.recordOf(before);
  return { before: record, after: record === before ? after : inRecord(record, before, after) };
}

function replaceStored({ tree }: WriteParts, work: UnitOfWork, change: NodeChange, stored: NodeChange): Node {
  const written = work.replace(tree.nodes, stored.before, stored.after);
  if (stored.before === change.before) return written;
  return tree.resolvedAs({ ...change.after, version: written.version }, written);
}

/** Returns what to store for a change of a node whose record a job has not rewritten yet. */
function inRecord(record: Node, before: Node, after: NodeChange['after']): NodeChange['after'] {
  if (before.state === after.state && samePlace(before, after)) {
    const kept = record.state === 'active' ? { ...restored(after), externalKey: after.externalKey } : after;
    return { ...kept, ...placeIn(record), state: record.state };
  }
  // The job that restores the node might not find it in its new place.
  const comesBack = before.state === 'active' && after.state === 'active' && record.state === 'trashed';
  return comesBack ? { ...restored(after), externalKey: after.externalKey } : after;
}

function placeIn({ tenant, orgId, workspaceId, ancestors, boundary }: Node): Place {
  return { tenant, orgId, workspaceId, ancestors, boundary };
}
