import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import type { AccessibleResource, IndexService, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import {
  SearchField,
  SearchMode,
  type SearchRequest,
  type SearchResponse,
  type SearchService,
} from '@commonplace/proto/search/v1/search_service.js';
import { readRequest, type Search, tagQuestion, withTags } from '../domain/request.js';
import { DependencyUnavailable } from '../errors.js';
import { type Hit, type IndexAnswer, IndexFailure, type SearchIndex } from '../index/port.js';
import { facetCounts, searchItem } from '../views/item.js';

export interface SearchParts {
  readonly index: SearchIndex;
  /** The owner of the tree: what a caller may find, and whether they still may. */
  readonly resources: Pick<Client<IndexService>, 'getSearchFilter' | 'checkAccess'>;
}

/** Hits asked for when some were refused, for each one that is missing. */
const OVERFETCH = 3;
/** Times that a page is refilled; a page that is short then says where it goes on. */
const MOST_REFILLS = 8;

export function createSearchHandlers(parts: SearchParts): Handlers<SearchService> {
  return { search: (request, context) => search(parts, request, context) };
}

async function search(parts: SearchParts, request: SearchRequest, context: CallContext): Promise<SearchResponse> {
  const began = performance.now();
  const read = readRequest(request);
  const filter = await parts.resources.getSearchFilter(
    {
      workspaceIds: request.workspaceIds,
      includeArchived: request.includeArchived,
      parentId: request.parentId ?? '',
      ...tagQuestion(request, read),
    },
    context.onward,
  );
  const asked = withTags(read, request.tagIds, filter);
  const page = asked.nowhere ? NOTHING : await fill(parts, asked, filter, context);
  warn(request, page, context);
  return {
    items: page.found.map(({ hit, resource }) => searchItem(hit, resource)),
    facets: facetCounts(page.facets),
    mode: SearchMode.KEYWORD,
    degraded: request.mode !== SearchMode.KEYWORD,
    tookMs: Math.round(performance.now() - began),
    page: {
      limit: asked.limit,
      offset: asked.offset,
      total: page.total,
      totalIsEstimate: page.totalIsEstimate,
      hasMore: page.more,
      nextOffset: page.more ? page.next : undefined,
      nextCursor: undefined,
    },
  };
}

interface Found {
  readonly hit: Hit;
  readonly resource: AccessibleResource;
}

interface FilledPage extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete' | 'more'> {
  readonly found: readonly Found[];
  /** The offset behind the last hit that was looked at. */
  readonly next: number;
}

const NOTHING: FilledPage = {
  found: [],
  facets: {},
  total: 0,
  totalIsEstimate: false,
  complete: true,
  more: false,
  next: 0,
};

/** A page of hits that the owner of the tree lets the caller read; those refused are made up for. */
async function fill(
  parts: SearchParts,
  asked: Search,
  filter: SearchFilter,
  context: CallContext,
): Promise<FilledPage> {
  const found: Found[] = [];
  const first = await ask(parts.index, asked, filter, asked.offset, asked.limit);
  let answer = first;
  let next = asked.offset;
  let refused = 0;
  let more = false;
  for (let refills = 0; ; refills++) {
    const readable = await recheck(parts, answer.hits, context);
    for (const hit of answer.hits) {
      const resource = readable.get(hit.id);
      if (found.length === asked.limit) {
        more ||= resource !== undefined;
        continue;
      }
      next++;
      if (resource === undefined) refused++;
      else found.push({ hit, resource });
    }
    if (found.length === asked.limit || !answer.more || refills === MOST_REFILLS) break;
    const missing = asked.limit - found.length;
    answer = await ask(parts.index, { ...asked, facets: [] }, filter, next, missing * OVERFETCH);
  }
  const { facets, totalIsEstimate, complete } = first;
  const total = Math.max(asked.offset + found.length, first.total - refused);
  return { found, facets, total, totalIsEstimate, complete, more: more || answer.more, next };
}

async function ask(
  index: SearchIndex,
  { plan, narrowing, field, minScore, facets, highlight }: Search,
  filter: SearchFilter,
  offset: number,
  limit: number,
): Promise<IndexAnswer> {
  try {
    return await index.search({ plan, narrowing, field, minScore, facets, highlight, filter, offset, limit });
  } catch (error) {
    if (error instanceof IndexFailure) throw DependencyUnavailable({}, { retryAfter: 1, cause: error });
    throw error;
  }
}

/** Those of the hits that the caller may read now, by id. */
async function recheck(
  { resources }: SearchParts,
  hits: readonly Hit[],
  context: CallContext,
): Promise<Map<string, AccessibleResource>> {
  if (hits.length === 0) return new Map();
  const checked = await resources.checkAccess({ ids: hits.map(({ id }) => id) }, context.onward);
  return new Map(checked.resources.map((resource) => [resource.id, resource]));
}

function warn(request: SearchRequest, { complete }: FilledPage, { reply }: CallContext): void {
  const warnings: { code: string; message: string }[] = [];
  if (request.mode !== SearchMode.KEYWORD) {
    warnings.push({ code: 'embeddings_unavailable', message: 'Only the words were searched for, not their meaning.' });
  }
  if (request.in.includes(SearchField.COMMENTS)) {
    warnings.push({ code: 'comments_not_searched', message: 'Comments are not in the index.' });
  }
  if (!complete) {
    warnings.push({ code: 'index_incomplete', message: 'The index is being made: some resources are not in it yet.' });
  }
  if (warnings.length > 0) reply.warnings = [...(reply.warnings ?? []), ...warnings];
}
