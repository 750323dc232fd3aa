import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { publishChange } from '../events.js';
import { replaceNodes } from '../nodes/replace.js';
import { enqueue } from '../nodes/subtree.js';
import type { TagParts } from './parts.js';
import type { Tag } from './records.js';
import { withoutTag } from './rules.js';

/** Removes a tag from nodes, or replaces it by another, and updates the counts. Returns the nodes that changed. */
export function replaceTag(
  parts: TagParts,
  work: UnitOfWork,
  nodes: readonly Node[],
  id: string,
  instead: string | undefined,
): Promise<Node[]> {
  const tagged = nodes.filter(({ tags }) => tags.includes(id));
  const changes = tagged.map((node) => ({
    before: node,
    after: { ...node, tags: withoutTag(node.tags, id, instead) },
  }));
  return replaceNodes(parts, work, changes);
}

/**
 * Removes a tag that this call deletes or merges from all nodes that carry it: in this call if they are few, else by a
 * job. From then on no read shows the tag. The job also finds nodes that are tagged with it at this very moment.
 */
export async function retireTag(parts: TagParts, tag: Tag, into: Tag | undefined, context: CallContext): Promise<void> {
  const limit = parts.settings.inlineTagged;
  const nodes = await parts.tree.nodes.find({ where: { tags: { contains: tag.id } }, limit: limit + 1 });
  if (nodes.length <= limit) {
    const [first, ...others] = await replaceTag(parts, context.work, nodes, tag.id, into?.id);
    if (first !== undefined) publishChange(context, { verb: 'resource.updated', fields: ['tags'] }, first, others);
  }
  const { tenant, workspaceId } = tag;
  enqueue(parts, context, { kind: 'untag', tenant, headId: tag.id, workspaceIds: [workspaceId], sweep: true });
}

/** Rewrites one chunk of the nodes that `retireTag` left over, in a job's unit of work. */
export async function retireChunk(
  parts: TagParts,
  work: UnitOfWork,
  id: string,
  nodes: readonly Node[],
): Promise<Node[]> {
  const into = (await parts.tags.lookUp([id])).get(id);
  // Conflicts with a concurrent deletion of the tag that this one is merged into.
  if (into !== undefined) work.expect(parts.tags.collection, into);
  return replaceTag(parts, work, nodes, id, into?.id);
}

/** Deletes the record and the counts of a tag that no node carries any more. */
export async function forgetTag(parts: TagParts, work: UnitOfWork, id: string): Promise<void> {
  const merged = await parts.tags.collection.get(id);
  if (merged !== undefined) work.remove(parts.tags.collection, merged);
  for (const usage of await parts.usage.find({ where: { tagId: id }, limit: 1000 })) work.remove(parts.usage, usage);
}
