import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Tag, Tags } from './tags.js';
import type { Tree } from './tree.js';

/** How many live nodes of a workspace carry a tag, in slots that are added up. */
export interface TagUsage extends StoredRecord {
  readonly workspaceId: string;
  readonly tagId: string;
  readonly active: number;
}

export const tagUsageCollection: CollectionSpec<TagUsage> = {
  name: 'tag_usage',
  indexes: [{ fields: ['workspaceId', 'tagId'] }, { fields: ['tagId'] }],
};

/** Slots a tag's count has, so that concurrent taggings do not wait for one record. */
export const USAGE_SLOTS = 4;

export interface UsageParts {
  readonly tags: Tags;
  readonly tree: Pick<Tree, 'nodes'>;
  readonly usage: Collection<TagUsage>;
}

/** How many live resources carry each of some tags of one workspace, by the tag's id. Exact. */
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
  // A node may carry both, the tag and one that is being merged into it.
  for (const id of new Set(merging.map((tag) => tag.mergedInto as string))) {
    const carried = await parts.tags.carriedFor([id]);
    counts.set(id, await parts.tree.nodes.count({ tags: { containsAny: carried }, workspaceId, state: 'active' }));
  }
  return counts;
}
