import { keyset, parsePageRequest, type TimeFilters, timesWithin, toPage } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Tag as TagMessage } from '@commonplace/proto/resources/v1/tag.js';
import { foldName } from '../domain/node.js';
import type { TagParts } from './parts.js';
import type { Tag, TaggedNode } from './records.js';
import { countUsage } from './usage.js';

/** Returns the messages of tags of one workspace, in the same order. */
export async function tagMessages(parts: TagParts, tags: readonly Tag[]): Promise<TagMessage[]> {
  const usage = await countUsage({ ...parts, tree: parts.tree }, tags);
  return tags.map((tag) => tagMessage(tag, usage.get(tag.id) ?? 0));
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
  return [...tags].sort((a, b) => compare(a.nameFold, b.nameFold) || compare(a.id, b.id));
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export interface TagQuery {
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
  const found = await parts.tags.collection.find({
    where: {
      workspaceId,
      mergedInto: { exists: false },
      ...(q === '' ? {} : { nameFold: { substring: q } }),
      ...timesWithin(query.times ?? {}),
    },
    sort: ['nameFold'],
    limit: MAX_TAGS,
  });
  const tags = ids === undefined ? found : found.filter(({ id }) => ids.includes(id));
  if (!query.sort.endsWith('usage_count')) {
    const sorted = query.sort === '-name' ? [...tags].reverse() : tags;
    const { rows, page } = pageOf(sorted, query, (tag) => keyset(tag, ['nameFold']));
    return { items: await tagMessages(parts, rows), page };
  }
  const messages = await tagMessages(parts, tags);
  messages.sort((a, b) => compare(a.usageCount, b.usageCount) || compare(a.id, b.id));
  if (query.sort.startsWith('-')) messages.reverse();
  const { rows, page } = pageOf(messages, query, ({ usageCount, id }) => [usageCount, id]);
  return { items: rows, page };
}

/** Maximum number of tags read; above the limit of a workspace, because concurrent creations may exceed it. */
const MAX_TAGS = 2000;

type Key = readonly (string | number | boolean)[];

/** Returns a page of rows that are sorted by their keys. */
export function pageOf<T>(
  sorted: readonly T[],
  { page: asked, sort }: Pick<TagQuery, 'page' | 'sort'>,
  keyOf: (row: T) => Key,
): { rows: T[]; page: Page } {
  const slice = parsePageRequest(asked);
  const { limit, offset, after } = slice;
  const from = after === undefined ? offset : behind(sorted, after, sort.startsWith('-'), keyOf);
  const rows = sorted.slice(from, from + limit);
  const last = from + limit < sorted.length ? rows.at(-1) : undefined;
  return { rows, page: toPage(slice, sorted.length, last && keyOf(last)) };
}

function behind<T>(sorted: readonly T[], after: Key, falling: boolean, keyOf: (row: T) => Key): number {
  const order = falling ? -1 : 1;
  const at = sorted.findIndex((row) => order * compareKeys(keyOf(row), after) > 0);
  return at === -1 ? sorted.length : at;
}

function compareKeys(a: Key, b: Key): number {
  for (const [i, part] of a.entries()) {
    const other = b[i];
    if (typeof part !== typeof other) return typeof part === 'number' ? -1 : 1;
    const order = compare(part as string, other as string);
    if (order !== 0) return order;
  }
  return 0;
}
