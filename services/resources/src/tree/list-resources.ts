import { invalidField, NotFound } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { type Sort, shortenedPage, sortsBy, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { ResourceState, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  type ListResourcesRequest,
  type ListResourcesResponse,
  ResourceInclude,
} from '@commonplace/proto/resources/v1/resource_service.js';
import type { Node, NodeType } from '../domain/node.js';
import { type Capability, may } from '../domain/role.js';
import type { AccessSubject, Seen } from '../policy.js';
import { byName, tagMessages } from '../tags/queries.js';
import type { Tag } from '../tags/records.js';
import { nodeType, TYPES } from '../wire.js';
import { fewOfName, fewOfTypes } from './few.js';
import { createdBy, listFew, listNodes, listUnsettled, type NodePage } from './list.js';
import { listedMessage } from './listed-message.js';
import type { TreeParts } from './parts.js';
import { countVisibleChildren, pathFrom, requireIncludeScope } from './surroundings.js';
import { type Visible, visibleWhere } from './visible.js';

const SORT_FIELDS: Readonly<Record<string, Sort<Node>>> = {
  ...sortsBy<Node>({ name: 'nameFold', created_at: 'createdAt', updated_at: 'updatedAt' }),
  '': ['position'],
  position: ['position'],
};

/**
 * Lists the resources of a workspace that the caller can read: all of them, or those below a parent. In the trash, lists
 * those that the caller could restore.
 */
export async function listResources(
  parts: TreeParts,
  request: ListResourcesRequest,
  context: CallContext,
): Promise<ListResourcesResponse> {
  const subject = await parts.policy.subject(context);
  requireIncludeScope(request.include, subject);
  const membership = await parts.policy.visit(request.workspaceId, subject, context);
  const parent = await requireParent(parts, request, subject);
  const capability = request.state === ResourceState.TRASHED ? 'write' : 'read';
  const visible = await visibleWhere(parts, request.workspaceId, subject, capability);
  const filters = await filtersOf(parts, request);
  const found = await pageOf(parts, { request, parent, filters, visible, capability }, subject);
  const { nodes, page } = request.include.includes(ResourceInclude.CONTENT) ? withRoom(found, request) : found;
  const access = await parts.policy.accessToAll(nodes, subject);
  const seen = nodes.flatMap((node, i): Seen[] => {
    const held = access[i];
    return held === undefined || !may(held.role, capability) ? [] : [{ node, access: held, membership }];
  });
  if (request.include.includes(ResourceInclude.CONTENT)) {
    parts.policy.opensAll(
      seen.filter(({ node }) => node.type === 'document'),
      subject,
    );
  }
  return { items: await itemsOf(parts, seen, request.include, subject), page };
}

/** Maximum bytes of the documents' contents on one page that includes them; the first document always has room. */
const MAX_CONTENT_BYTES = 6 * 1024 * 1024;

/** Ends a page before the document whose content has no room on it. */
function withRoom({ nodes, page }: NodePage, request: ListResourcesRequest): NodePage {
  let bytes = 0;
  const end = nodes.findIndex(({ type, sizeBytes }, at) => {
    if (type === 'document') bytes += sizeBytes;
    return at > 0 && bytes > MAX_CONTENT_BYTES;
  });
  if (end < 0) return { nodes, page };
  const kept = nodes.slice(0, end);
  return { nodes: kept, page: shortenedPage(page, kept, sortOf(request), request.page) };
}

function sortOf({ sort }: ListResourcesRequest): Sort<Node> {
  return SORT_FIELDS[sort] ?? ['position'];
}

interface ListScope {
  readonly request: ListResourcesRequest;
  /** The parent below which to list; undefined for the workspace. */
  readonly parent: Node | undefined;
  readonly filters: Where<Node>;
  readonly visible: Visible;
  /** What the caller must be allowed to do with the resources. */
  readonly capability: Capability;
}

async function pageOf(parts: TreeParts, list: ListScope, subject: AccessSubject): Promise<NodePage> {
  const { request, filters, visible, capability } = list;
  const page = request.page ?? { limit: 50, offset: 0, cursor: '' };
  const sort = sortOf(request);
  const state = request.state === ResourceState.TRASHED ? 'trashed' : 'active';
  const place = placeFilter(request);
  // The parent implies the workspace, so the query uses only fields of the children's index.
  const scope = 'parentKey' in place ? { state } : { workspaceId: request.workspaceId, state };
  const unfiltered =
    Object.keys({ ...filters, ...place }).length === 0 && visible.granted.length === 0 && state === 'active';
  const counted = unfiltered
    ? await parts.counters.inWorkspace(request.workspaceId, visible.boundaries)
    : { nodes: undefined, attachments: await attachmentsAmong(parts, list) };
  const hidden: Where<Node> = counted.attachments === 0 ? {} : { attachment: { exists: false } };
  const total = counted.nodes;
  const spread = await parts.tree.unsettled(request.workspaceId);
  if (spread.length > 0) {
    const accept = (node: Node) =>
      node.state === state && node.workspaceId === request.workspaceId && isBelow(node, request);
    const where = { ...filters, ...hidden, workspaceId: { in: spread } };
    return listUnsettled(parts, { where, sort, page, accept, total, capability }, subject);
  }
  const where = { ...filters, ...hidden, ...place, ...visible.where };
  const types = typesOf(request);
  if (types.length > 0 && Object.keys(place).length === 0) {
    const few = await fewOfTypes(parts, types, { ...where, workspaceId: request.workspaceId, state }, page);
    if (few !== undefined) return listFew(few, sort, page);
  }
  if (request.q !== '' && !('parentKey' in place)) {
    const few = await fewOfName(parts, { ...where, workspaceId: request.workspaceId, state });
    if (few !== undefined) return listFew(few, sort, page);
  }
  return listNodes(parts, { where: { ...where, ...scope }, sort, page, total });
}

function isBelow(node: Node, request: ListResourcesRequest): boolean {
  if (request.parentId === '') return request.recursive !== false || node.parentKey === node.workspaceId;
  if (request.parentId === 'root') return request.recursive === true || node.parentKey === node.workspaceId;
  return request.recursive === true ? node.ancestors.includes(request.parentId) : node.parentKey === request.parentId;
}

/**
 * Returns an upper bound of the attachments to leave out: 0 if files are requested by type, or if the place cannot
 * contain attachments. Attachments in the trash are not counted, so the bound is infinite there.
 */
async function attachmentsAmong(parts: TreeParts, { request, parent }: ListScope): Promise<number> {
  if (request.type.includes(ResourceType.FILE)) return 0;
  if ('parentKey' in placeFilter(request)) return parent?.type === 'document' ? Number.POSITIVE_INFINITY : 0;
  if (request.state === ResourceState.TRASHED) return Number.POSITIVE_INFINITY;
  return parts.counters.attachmentsIn(request.workspaceId);
}

/**
 * Returns the named parent. Throws unless it is a resource of this workspace that the caller can see. One in the trash
 * is seen by people who could restore it.
 */
async function requireParent(
  parts: TreeParts,
  request: ListResourcesRequest,
  subject: AccessSubject,
): Promise<Node | undefined> {
  const { parentId } = request;
  if (parentId === '' || parentId === 'root') return undefined;
  if (!isUuid(parentId)) throw invalidField('parent_id', 'invalid_value', 'parent_id is a resource id or "root".');
  const { node, access } = await parts.policy.seeEvenTrashed(parentId, subject);
  if (node.state === 'trashed' && !may(access.role, 'write')) throw NotFound();
  if (node.workspaceId !== request.workspaceId) {
    throw invalidField('parent_id', 'invalid_value', 'parent_id is a resource of another workspace.');
  }
  return node;
}

/** Returns the filter for the part of the tree that the request names. */
function placeFilter({ parentId, recursive, workspaceId }: ListResourcesRequest): Where<Node> {
  if (parentId === 'root' || parentId === '') {
    const childrenOnly = parentId === 'root' ? recursive !== true : recursive === false;
    return childrenOnly ? { parentKey: workspaceId } : {};
  }
  return recursive === true ? { ancestors: { contains: parentId } } : { parentKey: parentId };
}

/** Returns the filter for the request's conditions other than workspace, state and place. */
async function filtersOf(parts: TreeParts, request: ListResourcesRequest): Promise<Where<Node>> {
  const where: { -readonly [F in keyof Where<Node>]: Where<Node>[F] } = {};
  const types = typesOf(request);
  if (types.length > 0) where.type = { in: types };
  if (request.q !== '') where.nameFold = { substring: foldName(request.q) };
  if (request.externalId !== '') where.externalKey = `${request.workspaceId}:${request.externalId}`;
  if (request.createdBy !== '') where.and = [createdBy(request.createdBy)];
  if (request.tagId.length > 0) where.tags = { containsAny: await tagFilter(parts, request) };
  const created = range(request.createdAfter, request.createdBefore);
  if (created !== undefined) where.createdAt = created;
  const updated = range(request.updatedAfter, request.updatedBefore);
  if (updated !== undefined) where.updatedAt = updated;
  return where;
}

/** Returns all ids that nodes may carry for the requested tags; tags of other workspaces match nothing. */
async function tagFilter(parts: TreeParts, { tagId, workspaceId }: ListResourcesRequest): Promise<string[]> {
  const known = await parts.tags.byId(tagId);
  const here = [...known.values()].filter((tag) => tag.workspaceId === workspaceId);
  return parts.tags.carriedFor(here.map(({ id }) => id));
}

function typesOf({ type }: ListResourcesRequest): NodeType[] {
  return type.flatMap((one) => nodeType(one) ?? []);
}

function range(after: string | undefined, before: string | undefined) {
  if (after === undefined && before === undefined) return undefined;
  return { ...(after === undefined ? {} : { gt: after }), ...(before === undefined ? {} : { lt: before }) };
}

/** Returns the messages of a page, with the fields that the request includes. */
async function itemsOf(
  parts: TreeParts,
  seen: readonly Seen[],
  include: readonly ResourceInclude[],
  subject: AccessSubject,
) {
  const nodes = seen.map(({ node }) => node);
  const counts = await countVisibleChildren(parts, nodes, subject);
  const tags = await parts.tags.ofAll(nodes);
  const publications = await parts.publicationSummaries(nodes, subject);
  const records = include.includes(ResourceInclude.TAGS) ? await tagRecords(parts, tags) : undefined;
  const paths = include.includes(ResourceInclude.PATH) || include.includes(ResourceInclude.PARENT);
  const above = paths ? await parts.tree.getMany([...new Set(nodes.flatMap((node) => node.ancestors))]) : [];
  const loaded = new Map(above.map((node) => [node.id, node]));
  return Promise.all(
    seen.map(async (one) => {
      const { node } = one;
      const path = paths ? await pathFrom(parts, node, loaded, subject) : undefined;
      const nearest = path?.at(-1);
      const parent = nearest?.id === node.parentKey ? loaded.get(node.parentKey) : undefined;
      return listedMessage(one, {
        childCount: counts.get(node.id) ?? 0,
        publication: publications.get(node.id),
        path: include.includes(ResourceInclude.PATH) ? path : undefined,
        content:
          include.includes(ResourceInclude.CONTENT) && node.type === 'document'
            ? await parts.kinds.document.shownText(node, subject)
            : undefined,
        parent: include.includes(ResourceInclude.PARENT) ? parentSummary(parent) : undefined,
        tags: (tags.get(node.id) ?? []).map(({ id }) => id),
        tagRecords: records && { items: byName(tags.get(node.id) ?? []).flatMap(({ id }) => records.get(id) ?? []) },
      });
    }),
  );
}

/** Returns the messages of all tags on a page, by tag id. */
async function tagRecords(parts: TreeParts, byNode: ReadonlyMap<string, readonly Tag[]>) {
  const tags = new Map([...byNode.values()].flat().map((tag) => [tag.id, tag]));
  return new Map((await tagMessages(parts, [...tags.values()])).map((message) => [message.id, message]));
}

function parentSummary(parent: Node | undefined) {
  if (parent === undefined) return undefined;
  return { id: parent.id, type: TYPES[parent.type], name: parent.name };
}
