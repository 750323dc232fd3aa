import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** Number of live nodes of a workspace that carry a tag, split into slots that are summed. */
export interface TagUsage extends StoredRecord {
  readonly workspaceId: string;
  readonly tagId: string;
  readonly active: number;
}

export const tagUsageCollection: CollectionSpec<TagUsage> = {
  name: 'tag_usage',
  indexes: [{ fields: ['workspaceId', 'tagId'] }, { fields: ['tagId'] }],
};

/** Number of slots of a tag's counter, so that concurrent taggings do not contend on one record. */
export const USAGE_SLOTS = 4;
