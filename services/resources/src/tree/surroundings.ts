import type { PathItem } from '@commonplace/proto/resources/v1/resource.js';
import { ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import { mayHaveChildren, type Node, parentId } from '../domain/node.js';
import { insufficientScope } from '../errors.js';
import type { AccessSubject, Seen } from '../policy.js';
import { byName, tagMessages } from '../tags/queries.js';
import { type Surroundings, TYPES } from '../wire.js';
import type { TreeParts } from './parts.js';
import { visibleWhere } from './visible.js';

/** Throws unless the credential has the scope that reading contents needs, if the request includes them. */
export function requireIncludeScope(include: readonly ResourceInclude[], { caller }: AccessSubject): void {
  if (include.includes(ResourceInclude.CONTENT) && !caller.credential.scopes.includes('content:read')) {
    throw insufficientScope('content:read');
  }
}

/**
 * Returns the ancestors of a node that the caller can see, from the root down. The hidden ones are a single item at the
 * start.
 */
async function pathOf(
  parts: TreeParts,
  node: Node,
  subject: AccessSubject,
  parent: Node | undefined,
): Promise<PathItem[]> {
  const unknown = parent === undefined ? node.ancestors : parent.ancestors;
  const ancestors = unknown.length === 0 ? [] : await parts.tree.getMany(unknown);
  if (parent !== undefined) ancestors.push(parent);
  return pathFrom(parts, node, new Map(ancestors.map((one) => [one.id, one])), subject);
}

/** Returns the path of a node whose ancestors are already loaded. */
export async function pathFrom(
  parts: TreeParts,
  node: Node,
  loaded: ReadonlyMap<string, Node>,
  subject: AccessSubject,
): Promise<PathItem[]> {
  const ancestors = node.ancestors.flatMap((id) => loaded.get(id) ?? []);
  const access = await parts.policy.accessToAll(ancestors, subject);
  const visible = ancestors.filter((_, i) => access[i] !== undefined);
  const items: PathItem[] = visible.map(({ id, name }) => ({ id, name, hidden: undefined }));
  const hides = visible.length < node.ancestors.length;
  return hides ? [{ id: undefined, name: undefined, hidden: true }, ...items] : items;
}

/** Returns the fields of a single resource that are not in its record. `above` is its parent, if already loaded. */
export async function surroundingsOf(
  parts: TreeParts,
  seen: Seen,
  subject: AccessSubject,
  include: readonly ResourceInclude[] = [],
  above?: Node,
): Promise<Surroundings> {
  const { node } = seen;
  const counts = mayHaveChildren(node) ? await countVisibleChildren(parts, [node], subject) : undefined;
  const path = node.ancestors.length > 0 ? await pathOf(parts, node, subject, above) : [];
  const showsContent = node.type === 'document' && include.includes(ResourceInclude.CONTENT);
  const content = showsContent ? await parts.kinds.document.shownText(node, subject) : undefined;
  const parent = include.includes(ResourceInclude.PARENT) ? await parentOf(parts, node, subject) : undefined;
  const tagged = node.tags.length > 0 || include.includes(ResourceInclude.TAGS);
  const tags = tagged ? await taggedWith(parts, node, include) : undefined;
  const publication =
    node.published === true ? (await parts.publicationSummaries([node], subject)).get(node.id) : undefined;
  return { childCount: counts?.get(node.id) ?? 0, path, content, parent, publication, ...tags };
}

/** Returns the ids of a node's current tags, and their records if included. */
async function taggedWith(parts: TreeParts, node: Node, include: readonly ResourceInclude[]) {
  const tags = await parts.tags.of(node);
  const records = include.includes(ResourceInclude.TAGS) ? await tagMessages(parts, byName(tags)) : undefined;
  return { tags: tags.map(({ id }) => id), tagRecords: records && { items: records } };
}

async function parentOf(parts: TreeParts, node: Node, subject: AccessSubject): Promise<Surroundings['parent']> {
  const id = parentId(node);
  const parent = id === undefined ? undefined : await parts.tree.get(id);
  if (parent === undefined || (await parts.policy.accessTo(parent, subject)) === undefined) return undefined;
  return { id: parent.id, type: TYPES[parent.type], name: parent.name };
}

/**
 * Returns the number of a trashed node's children that are restored with it and that the caller can see. What this call
 * restores is not committed yet, so it counts them as trashed.
 */
export async function countRestoredChildren(parts: TreeParts, head: Node, subject: AccessSubject): Promise<number> {
  if (!mayHaveChildren(head)) return 0;
  const visible = await visibleWhere(parts, head.workspaceId, subject);
  const counts = await parts.tree.nodes.countBy('parentKey', {
    parentKey: { in: [head.id] },
    state: 'trashed',
    batchId: head.batchId as string,
    ...(head.type === 'document' && { attachment: { exists: false } }),
    ...visible.where,
  });
  return counts.get(head.id) ?? 0;
}

/** Returns the number of live children that the caller can see, by parent id. All parents are in one workspace. */
export async function countVisibleChildren(
  parts: TreeParts,
  parents: readonly Node[],
  subject: AccessSubject,
): Promise<ReadonlyMap<string, number>> {
  const candidates = parents.filter(mayHaveChildren);
  const [first] = candidates;
  if (first === undefined) return new Map();
  const visible = await visibleWhere(parts, first.workspaceId, subject);
  return parts.tree.nodes.countBy('parentKey', {
    parentKey: { in: candidates.map(({ id }) => id) },
    state: 'active',
    ...(candidates.some(({ type }) => type === 'document') && { attachment: { exists: false } }),
    ...visible.where,
  });
}

/** Returns a node that this call has just written, with the caller's access to it. */
export async function asSeen(parts: TreeParts, node: Node, subject: AccessSubject): Promise<Seen> {
  const membership = subject.person.workspaces.get(node.workspaceId);
  const access = await parts.policy.accessTo(node, subject);
  // The grant that makes the caller manager of a newly restricted node is not committed yet.
  return { node, access: access ?? { role: 'manager', source: 'direct' }, membership };
}
