import { reachesWorkspace } from '@commonplace/kit/auth';
import { TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { findPages } from '@commonplace/kit/store';
import { actorMessage } from '@commonplace/platform/actors';
import type { IndexEntry, IndexService, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { commentTexts } from '../../comments/comment-texts.js';
import type { Node } from '../../domain/node.js';
import { textsOf } from '../../kinds.js';
import type { AccessSubject } from '../../policy.js';
import { matchingTags } from '../../tags/matching-tags.js';
import { visibleWhere } from '../../tree/visible.js';
import { TYPES } from '../../wire.js';
import { accessible } from '../accessible.js';
import { checkReaders } from '../check-readers.js';
import { countReadable } from '../count-readable.js';
import { addFormerPlaces } from '../former-places.js';
import type { SearchParts } from '../parts.js';
import { partsAt } from '../parts-at.js';
import { portions } from '../portions.js';
import { shownTexts } from '../shown-texts.js';

/** Creates the handlers that the search service calls. */
export function createIndexHandlers(parts: SearchParts): Handlers<IndexService> {
  const { policy } = parts;
  return {
    async getIndexEntries({ ids, mostBytes }) {
      const nodes = await indexedAmong(parts, ids);
      const [first = []] = mostBytes > 0 ? portions(nodes, mostBytes) : [nodes];
      const leftIds = nodes.slice(first.length).map(({ id }) => id);
      return { entries: await entriesOf(parts, first), leftIds };
    },

    async *streamIndexEntries({ batchSize }) {
      for await (const nodes of allIndexed(parts, batchSize)) {
        for (const some of portions(nodes, STREAMED_BYTES))
          yield { entries: await entriesOf(parts, some), leftIds: [] };
      }
    },

    async getIndexStates({ ids }) {
      return { entries: statesOf(await indexedAmong(parts, ids)), leftIds: [] };
    },

    async *streamIndexStates({ batchSize }) {
      for await (const nodes of allIndexed(parts, batchSize)) yield { entries: statesOf(nodes), leftIds: [] };
    },

    async getSearchFilter(request, context) {
      const { workspaceIds, includeArchived, parentId } = request;
      const subject = await policy.subject(context);
      if (parentId !== '') await policy.see(parentId, subject);
      const chosen = await chooseWorkspaces(parts, workspaceIds, includeArchived, subject, context);
      const filter = await searchFilter(parts, chosen, subject);
      return { ...filter, ...(await matchingTags(parts, chosen, request)) };
    },

    async countResources({ workspaceIds, readableIds }, context) {
      const totals = await parts.counters.ofWorkspaces(workspaceIds);
      const counts = new Map([...totals, ...(await countReadable(parts, totals, readableIds, context))]);
      return { counts: Object.fromEntries([...counts].filter(([, count]) => count > 0)) };
    },

    async checkAccess({ ids }, context) {
      return { resources: await accessible(parts, ids, context) };
    },

    async checkReaders(request, context) {
      return checkReaders(parts, request, context);
    },

    async locatePlaces({ places }, { signal }) {
      return { parts: await partsAt(parts, places, signal) };
    },

    async getShownTexts({ ids, textOnlyIds }, context) {
      return { texts: await shownTexts(parts, { ids, textOnly: new Set(textOnlyIds) }, context) };
    },

    async locateTagsAndForms({ tagIds, formIds }) {
      const tags = await parts.tags.byId(tagIds);
      return {
        tagWorkspaces: Object.fromEntries([...tags].map(([id, { workspaceId }]) => [id, workspaceId])),
        formResources: await resourcesOfForms(parts, formIds),
      };
    },

    async convertPage({ html, tenant }, { deadline }) {
      return parts.deriver.run({ tenant, deadline }, Buffer.byteLength(html), 'page', html);
    },
  };
}

async function indexedAmong({ tree }: SearchParts, ids: readonly string[]): Promise<Node[]> {
  return (await tree.getMany(ids)).filter(isIndexed);
}

/** Approximate bytes of content whose texts are sent in one message of a stream. */
const STREAMED_BYTES = 2 * 1024 * 1024;

/** Yields all nodes to be indexed, in batches ordered by id. */
async function* allIndexed({ tree }: SearchParts, batchSize: number): AsyncGenerator<Node[]> {
  const limit = Math.min(Math.max(batchSize, 1), 500);
  for await (const nodes of findPages(tree.nodes, { where: {} }, limit)) {
    const live = (await tree.resolve(nodes)).filter(isIndexed);
    if (live.length > 0) yield live;
  }
}

/** Returns whether a node is indexed: it is live and not part of a template. */
function isIndexed(node: Node): boolean {
  return node.state === 'active' && node.template === undefined;
}

async function entriesOf(parts: SearchParts, nodes: readonly Node[]): Promise<IndexEntry[]> {
  const texts = await textsOf(parts.kinds, nodes);
  const tags = await parts.tags.ofAll(nodes);
  const comments = await commentTexts(parts, nodes);
  return statesOf(nodes).map((state) => ({
    ...state,
    text: texts.get(state.id) ?? '',
    tags: (tags.get(state.id) ?? []).map(({ id }) => id),
    comments: comments.get(state.id) ?? [],
  }));
}

/** Returns index entries with only the fields that the nodes contain. */
function statesOf(nodes: readonly Node[]): IndexEntry[] {
  return nodes.map((node) => ({
    id: node.id,
    tenant: node.tenant,
    workspaceId: node.workspaceId,
    boundaryId: node.boundary,
    ancestorIds: [...node.ancestors],
    directPrincipals: [...node.principals],
    type: TYPES[node.type],
    name: node.name,
    text: '',
    metadataJson: node.metadata ?? '{}',
    createdBy: actorMessage(node.createdBy),
    createdAt: node.createdAt,
    updatedAt: node.updatedAt,
    version: node.version,
    contentVersion: node.contentVersion,
    tags: [],
    comments: [],
  }));
}

/** Returns the workspaces to search: the requested ones, or all in the tenant that the credential reaches. */
async function chooseWorkspaces(
  parts: SearchParts,
  asked: readonly string[],
  includeArchived: boolean,
  subject: AccessSubject,
  context: CallContext,
): Promise<string[]> {
  if (asked.length > 0) {
    const tenants = new Set<string>();
    for (const id of asked) tenants.add((await parts.policy.visit(id, subject, context)).orgId);
    if (tenants.size > 1) throw TenantBoundary({}, { message: 'A search must name workspaces of one tenant only.' });
    return [...asked];
  }
  const { caller, person } = subject;
  const tenant = caller.tenant?.orgId ?? null;
  const joined = [...person.workspaces.values()]
    .filter(({ workspaceId, orgId, archived }) => {
      const org = orgId === '' ? null : orgId;
      const here = caller.tenant === undefined ? org === tenant : true;
      return here && (includeArchived || !archived) && reachesWorkspace(caller, workspaceId, org);
    })
    .map(({ workspaceId }) => workspaceId);
  return [...joined, ...(await visited(parts, tenant, includeArchived, subject))];
}

/** Returns the workspaces of the tenant in which the caller has grants but is not a member. */
async function visited(
  parts: SearchParts,
  tenant: string | null,
  includeArchived: boolean,
  subject: AccessSubject,
): Promise<string[]> {
  const { caller, person } = subject;
  const granted = (await parts.policy.grantedWorkspaces(subject)).filter(
    (one) => one.tenant === tenant && !person.workspaces.has(one.workspaceId),
  );
  const found: string[] = [];
  for (const { workspaceId } of granted) {
    if (!reachesWorkspace(caller, workspaceId, tenant)) continue;
    if (includeArchived || !(await subject.terms(workspaceId)).archived) found.push(workspaceId);
  }
  return found;
}

async function searchFilter(
  parts: SearchParts,
  workspaceIds: string[],
  subject: AccessSubject,
): Promise<Omit<SearchFilter, 'tagIds' | 'tagTerms'>> {
  const filter: Omit<SearchFilter, 'tagIds' | 'tagTerms'> = {
    workspaceIds: [...workspaceIds],
    openWorkspaceIds: [],
    boundaryIds: [],
    // Every valid grant is listed under `granted` below, so that a new or expired one takes effect at once.
    principals: [],
    granted: [],
    lost: [],
  };
  const held: Node[] = [];
  for (const id of workspaceIds) {
    const { boundaries, items } = await visibleWhere(parts, id, subject);
    if (boundaries === undefined) {
      filter.openWorkspaceIds.push(id);
      continue;
    }
    filter.boundaryIds.push(...boundaries);
    filter.granted.push(...items.map((one) => ({ resourceId: one.id, boundaryId: one.boundary })));
    held.push(...items);
  }
  await addFormerPlaces(parts, filter, held, subject);
  return filter;
}

/** Returns the resources of forms, which are named by their own ids or by those of the resources. */
async function resourcesOfForms(
  { forms: { forms } }: SearchParts,
  ids: readonly string[],
): Promise<Record<string, string>> {
  if (ids.length === 0) return {};
  const byId = await forms.getMany([...new Set(ids)]);
  const byResource = await forms.find({ where: { resourceId: { in: ids } }, limit: ids.length });
  return Object.fromEntries([
    ...byId.map(({ id, resourceId }) => [id, resourceId]),
    ...byResource.map(({ resourceId }) => [resourceId, resourceId]),
  ]);
}
