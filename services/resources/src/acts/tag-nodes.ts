import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { withoutTag } from '../domain/tags.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import type { Tag } from '../stores/tags.js';
import { recount } from './place.js';
import { enqueue } from './subtree.js';

/** Writes a node with other tags; their counts follow. `stamp` says who did it, where a person did. */
export function writeTags(
  parts: Parts,
  work: UnitOfWork,
  node: Node,
  tags: readonly string[],
  stamp: Partial<Pick<Node, 'updatedAt' | 'updatedBy'>> = {},
): Node {
  const after = { ...node, tags, ...stamp };
  recount(parts, { work }, node, after);
  return work.replace(parts.tree.nodes, node, after);
}

/** Takes a tag off nodes, or puts another in its place. Gives the nodes that changed. */
export function replaceTag(
  parts: Parts,
  work: UnitOfWork,
  nodes: readonly Node[],
  id: string,
  instead: string | undefined,
): Node[] {
  return nodes
    .filter(({ tags }) => tags.includes(id))
    .map((node) => writeTags(parts, work, node, withoutTag(node.tags, id, instead)));
}

/**
 * Takes a tag that was deleted or merged in this call off all that carry it: at once where these are
 * few, else after the answer. Nobody reads it from then on; what is tagged with it in this very
 * moment is found by the job.
 */
export async function retireTag(parts: Parts, tag: Tag, into: Tag | undefined, context: CallContext): Promise<void> {
  const limit = parts.settings.inlineTagged;
  const nodes = await parts.tree.nodes.find({ where: { tags: { contains: tag.id } }, limit: limit + 1 });
  if (nodes.length <= limit) {
    const [first, ...others] = replaceTag(parts, context.work, nodes, tag.id, into?.id);
    if (first !== undefined) publishChange(context, { verb: 'resource.updated', fields: ['tags'] }, first, others);
  }
  const { tenant, workspaceId } = tag;
  enqueue(parts, context, { kind: 'untag', tenant, headId: tag.id, workspaceIds: [workspaceId], sweep: true });
}

/** A piece of what `retireTag` left over, in a job's unit of work. */
export async function retireChunk(parts: Parts, work: UnitOfWork, id: string, nodes: readonly Node[]): Promise<Node[]> {
  const into = (await parts.tags.lookUp([id])).get(id);
  // Who deletes the tag that this one is merged into, and this piece, must not both succeed.
  if (into !== undefined) work.expect(parts.tags.collection, into);
  return replaceTag(parts, work, nodes, id, into?.id);
}

/** Forgets a tag that nothing carries any more. */
export async function forgetTag(parts: Parts, work: UnitOfWork, id: string): Promise<void> {
  const merged = await parts.tags.collection.get(id);
  if (merged !== undefined) work.remove(parts.tags.collection, merged);
  for (const usage of await parts.usage.find({ where: { tagId: id }, limit: 1000 })) work.remove(parts.usage, usage);
}
