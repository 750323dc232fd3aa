import type { PathItem } from '@commonplace/proto/resources/v1/resource.js';
import { ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import type { Surroundings } from '../handlers/present.js';
import { TYPES } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import type { Seen, Standing } from '../policy.js';
import { mayHaveChildren, type Node, parentId } from '../stores/nodes.js';
import { publicationSummaries } from './publications.js';
import { byName, tagMessages } from './tags.js';
import { visibleWhere } from './visible.js';

/** The visible ancestors of a node from the root down; the hidden ones are one item, at the start. */
async function pathOf(parts: Parts, node: Node, standing: Standing, parent: Node | undefined): Promise<PathItem[]> {
  const unknown = parent === undefined ? node.ancestors : parent.ancestors;
  const ancestors = unknown.length === 0 ? [] : await parts.tree.getMany(unknown);
  if (parent !== undefined) ancestors.push(parent);
  return pathFrom(parts, node, new Map(ancestors.map((one) => [one.id, one])), standing);
}

/** The same from ancestors that are loaded already. */
export async function pathFrom(
  parts: Parts,
  node: Node,
  loaded: ReadonlyMap<string, Node>,
  standing: Standing,
): Promise<PathItem[]> {
  const ancestors = node.ancestors.flatMap((id) => loaded.get(id) ?? []);
  const access = await parts.policy.accessToAll(ancestors, standing);
  const visible = ancestors.filter((_, i) => access[i] !== undefined);
  const items: PathItem[] = visible.map(({ id, name }) => ({ id, name, hidden: undefined }));
  const hides = visible.length < node.ancestors.length;
  return hides ? [{ id: undefined, name: undefined, hidden: true }, ...items] : items;
}

/** What a single resource shows beside its record; `above` is its parent, where that was read already. */
export async function surroundingsOf(
  parts: Parts,
  seen: Seen,
  standing: Standing,
  include: readonly ResourceInclude[] = [],
  above?: Node,
): Promise<Surroundings> {
  const { node } = seen;
  const counts = mayHaveChildren(node) ? await countVisibleChildren(parts, [node], standing) : undefined;
  const path = node.ancestors.length > 0 ? await pathOf(parts, node, standing, above) : [];
  const showsContent = node.type === 'document' && include.includes(ResourceInclude.CONTENT);
  const content = showsContent ? await parts.kinds.document.shownText(node, standing) : undefined;
  const parent = include.includes(ResourceInclude.PARENT) ? await parentOf(parts, node, standing) : undefined;
  const tagged = node.tags.length > 0 || include.includes(ResourceInclude.TAGS);
  const tags = tagged ? await taggedWith(parts, node, include) : undefined;
  const publication =
    node.published === true ? (await publicationSummaries(parts, [node], standing)).get(node.id) : undefined;
  return { childCount: counts?.get(node.id) ?? 0, path, content, parent, publication, ...tags };
}

/** The present tags of a node: their ids, and their records where asked for. */
async function taggedWith(parts: Parts, node: Node, include: readonly ResourceInclude[]) {
  const tags = await parts.tags.of(node);
  const records = include.includes(ResourceInclude.TAGS) ? await tagMessages(parts, byName(tags)) : undefined;
  return { tags: tags.map(({ id }) => id), tagRecords: records && { items: records } };
}

async function parentOf(parts: Parts, node: Node, standing: Standing): Promise<Surroundings['parent']> {
  const id = parentId(node);
  const parent = id === undefined ? undefined : await parts.tree.get(id);
  if (parent === undefined || (await parts.policy.accessTo(parent, standing)) === undefined) return undefined;
  return { id: parent.id, type: TYPES[parent.type], name: parent.name };
}

/** How many live children the caller sees, by parent; all of the parents are in one workspace. */
export async function countVisibleChildren(
  parts: Parts,
  parents: readonly Node[],
  standing: Standing,
): Promise<ReadonlyMap<string, number>> {
  const candidates = parents.filter(mayHaveChildren);
  const [first] = candidates;
  if (first === undefined) return new Map();
  const visible = await visibleWhere(parts, first.workspaceId, standing);
  return parts.tree.nodes.countBy('parentKey', {
    parentKey: { in: candidates.map(({ id }) => id) },
    state: 'active',
    ...(candidates.some(({ type }) => type === 'document') && { attachment: { exists: false } }),
    ...visible.where,
  });
}
