import { isUuid } from '@commonplace/kit/id';
import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { TagParts } from './parts.js';
import { foldTag } from './rules.js';

/** Maximum number of tag names in one query that are looked up; any further ones match nothing. */
const MAX_TERMS = 64;
/** Maximum number of tags of the same name, over all workspaces of a search. */
const MAX_TAGS_PER_NAME = 1000;

/** The tags that a search names: by id, and by terms that are a name or an id. */
interface TagQuery {
  readonly tagIds: readonly string[];
  readonly tagTerms: readonly string[];
}

/** Returns the ids that index entries of some workspaces may carry for the tags that a search names. */
export async function matchingTags(
  parts: TagParts,
  workspaceIds: readonly string[],
  { tagIds, tagTerms }: TagQuery,
): Promise<Pick<SearchFilter, 'tagIds' | 'tagTerms'>> {
  if (tagIds.length === 0 && tagTerms.length === 0) return { tagIds: [], tagTerms: [] };
  const carried = async (ids: readonly string[]) => {
    const known = await parts.tags.byId(ids);
    return parts.tags.carriedFor([...known.keys()]);
  };
  const terms = await Promise.all(
    tagTerms.map(async (term, i) => {
      if (i >= MAX_TERMS) return { ids: [] };
      const named = await parts.tags.collection.find({
        where: { nameFold: foldTag(term), workspaceId: { in: workspaceIds }, mergedInto: { exists: false } },
        limit: MAX_TAGS_PER_NAME,
      });
      return { ids: await carried([...named.map(({ id }) => id), ...(isUuid(term) ? [term] : [])]) };
    }),
  );
  return { tagIds: tagIds.length === 0 ? [] : await carried(tagIds), tagTerms: terms };
}
