import { createBreathe } from '@commonplace/kit/slices';
import {
  findInPages,
  pageOfAll,
  parsePageRequest,
  sortRecords,
  type TimeFilters,
  timesWithin,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Tag as TagMessage } from '@commonplace/proto/resources/v1/tag.js';
import type { TagParts } from './parts.js';
import type { Tag, TaggedNode } from './records.js';
import { countUsage } from './usage.js';

/** Number of tags that are read or counted at once; other requests run in between. */
const READ_AT_ONCE = 200;

/** Returns the messages of tags of one workspace, in the same order. */
export async function tagMessages(parts: TagParts, tags: readonly Tag[]): Promise<TagMessage[]> {
  const breathe = createBreathe();
  const messages: TagMessage[] = [];
  for (let from = 0; from < tags.length; from += READ_AT_ONCE) {
    const some = tags.slice(from, from + READ_AT_ONCE);
    const usage = await countUsage({ ...parts, tree: parts.tree }, some);
    messages.push(...some.map((tag) => tagMessage(tag, usage.get(tag.id) ?? 0)));
    await breathe();
  }
  return messages;
}

export function tagMessage(tag: Tag, usageCount: number): TagMessage {
  const { id, workspaceId, name, color, description, createdAt, updatedAt, version } = tag;
  return { id, workspaceId, name, color, description, usageCount, createdAt, updatedAt, version };
}

/** Returns the tags of a node, sorted by name. */
export async function tagsOf(parts: TagParts, node: TaggedNode): Promise<Tag[]> {
  return byName(await parts.tags.of(node));
}

export function byName(tags: readonly Tag[]): Tag[] {
  return sortRecords(tags, ['nameFold']);
}

interface TagQuery {
  readonly workspaceId: string;
  /** A part of the name; empty for all tags. */
  readonly q: string;
  /** `name`, `usage_count` or one of these with a minus; empty for `name`. */
  readonly sort: string;
  readonly page: PageRequest | undefined;
  /** Restricts the list to these tags. */
  readonly ids?: readonly string[];
  readonly times?: TimeFilters;
}

/** Returns a page of a workspace's tags, which are few enough to be sorted in memory. */
export async function listTags(parts: TagParts, query: TagQuery): Promise<{ items: TagMessage[]; page: Page }> {
  const { workspaceId, ids } = query;
  const q = foldName(query.q);
  const where = {
    workspaceId,
    mergedInto: { exists: false },
    ...(q === '' ? {} : { nameFold: { substring: q } }),
    ...timesWithin(query.times ?? {}),
  };
  const { collection } = parts.tags;
  const found = await findInPages(collection, { where, sort: ['nameFold'], limit: MAX_TAGS }, READ_AT_ONCE);
  const tags = ids === undefined ? found : found.filter(({ id }) => ids.includes(id));
  const slice = parsePageRequest(query.page);
  const falls = query.sort.startsWith('-');
  if (query.sort.endsWith('usage_count')) {
    return pageOfAll(slice, await tagMessages(parts, tags), [falls ? '-usageCount' : 'usageCount']);
  }
  const { items, page } = pageOfAll(slice, tags, [falls ? '-nameFold' : 'nameFold']);
  return { items: await tagMessages(parts, items), page };
}

/** Maximum number of tags read; above the limit of a workspace, because concurrent creations may exceed it. */
const MAX_TAGS = 2000;
