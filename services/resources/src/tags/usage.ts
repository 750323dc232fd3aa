import type { Collection } from '@commonplace/kit/store';
import { type TagUsage, USAGE_SLOTS } from '../nodes/tag-usage.js';
import type { Tree } from '../nodes/tree.js';
import type { Tag, Tags } from './records.js';

interface UsageParts {
  readonly tags: Tags;
  readonly tree: Pick<Tree, 'nodes'>;
  readonly usage: Collection<TagUsage>;
}

/** Returns the exact number of live resources that carry each tag, by tag id. All tags are of one workspace. */
export async function countUsage(parts: UsageParts, tags: readonly Tag[]): Promise<Map<string, number>> {
  const [first] = tags;
  const counts = new Map<string, number>(tags.map(({ id }) => [id, 0]));
  if (first === undefined) return counts;
  const { workspaceId } = first;
  const ids = [...counts.keys()];
  const where = { workspaceId, tagId: { in: ids } };
  for (const { tagId, active } of await parts.usage.find({ where, limit: ids.length * USAGE_SLOTS })) {
    counts.set(tagId, (counts.get(tagId) ?? 0) + active);
  }
  const merging = await parts.tags.collection.find({ where: { mergedInto: { in: ids } }, limit: 1000 });
  // A node may carry both a tag and one that is being merged into it, so such tags are counted on the nodes.
  for (const id of new Set(merging.map((tag) => tag.mergedInto as string))) {
    const carried = await parts.tags.carriedFor([id]);
    counts.set(id, await parts.tree.nodes.count({ tags: { containsAny: carried }, workspaceId, state: 'active' }));
  }
  return counts;
}
