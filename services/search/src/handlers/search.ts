import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { valuesByName } from '@commonplace/platform/enums';
import {
  SearchMode,
  type SearchRequest,
  type SearchResponse,
  type SearchService,
} from '@commonplace/proto/search/v1/search_service.js';
import { readRequest, tagQuestion, withTags } from '../domain/request.js';
import { DependencyUnavailable } from '../errors.js';
import { IndexFailure, type SearchIndex } from '../index/port.js';
import { disclosed } from '../ranking/disclosed.js';
import type { FilledPage, Question } from '../ranking/found.js';
import { pageByMeaning } from '../ranking/meaning.js';
import { type ShownPlace, shownOf } from '../ranking/places.js';
import type { TreeOwner } from '../ranking/recheck.js';
import { pageByWords } from '../ranking/words.js';
import { attributionOf, type UsageRecorder } from '../usage/recorder.js';
import type { CountQuery, EmbedQuery, QueryVector } from '../vectors/query-vector.js';
import { facetCounts, searchItem } from '../views/item.js';

export interface SearchParts {
  readonly index: SearchIndex;
  readonly resources: TreeOwner;
  /** Undefined when embeddings are off. */
  readonly embedQuery?: EmbedQuery;
  /** Receives the tokens that queries consume at a provider. */
  readonly usage?: UsageRecorder;
}

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
  const parsed = withTags(read, request.tagIds, filter);
  const answered = await answer(parts, { request: parsed, filter }, context);
  const { mode, page, degraded } = answered;
  warn(answered, context);
  const places = await disclosed(parts.resources, page.found, parsed, context);
  const shown = await shownOf(parts.resources, places, parsed, context);
  return {
    items: places.map((place, i) => searchItem(place, shown[i] ?? NOTHING_SHOWN)),
    facets: facetCounts(page.facets, parsed.facets),
    mode,
    degraded: degraded !== undefined,
    tookMs: Math.round(performance.now() - began),
    page: {
      limit: parsed.limit,
      offset: parsed.offset,
      total: page.total,
      totalIsEstimate: page.totalIsEstimate,
      hasMore: page.more,
      nextOffset: page.more ? page.next : undefined,
      nextCursor: undefined,
    },
  };
}

const NOTHING_SHOWN: ShownPlace = { snippets: {} };

interface Warning {
  readonly code: string;
  readonly message: string;
}

interface Answer {
  readonly mode: SearchMode;
  readonly page: FilledPage;
  /** Why the requested mode was not available. */
  readonly degraded?: Warning | undefined;
  /** Whether some entries can't be found by their meaning yet. */
  readonly incomplete?: boolean;
}

const MODES = valuesByName(SearchMode);

async function answer(parts: SearchParts, question: Question, context: CallContext): Promise<Answer> {
  const { request } = question;
  const mode = MODES[request.mode];
  const means = await meaningOf(parts, question, context);
  if (means === undefined) return { mode, page: await byWords(parts, question, context) };
  const answered = 'vector' in means ? await byMeaning(parts, question, means.vector, context) : means.degraded;
  if ('page' in answered) return answered;
  return { mode: SearchMode.KEYWORD, page: await byWords(parts, question, context), degraded: answered };
}

/** Returns the answer of semantic search, or why there is none. */
async function byMeaning(
  parts: SearchParts,
  question: Question,
  vector: QueryVector | undefined,
  context: CallContext,
): Promise<Answer | Warning> {
  const { mode, minScore } = question.request;
  const page = await pageByMeaning(parts.index, parts.resources, question, vector, context).catch((error: unknown) => {
    if (error instanceof IndexFailure) return undefined;
    throw error;
  });
  if (page === undefined) return UNAVAILABLE.failed;
  const answered = { mode: MODES[mode], page, incomplete: vector?.complete === false };
  if (!answered.incomplete || page.total > 0 || minScore !== undefined) return answered;
  // Keyword search is all that is left if none of the candidates is embedded yet; if it finds none, there are none.
  const words = await byWords(parts, question, context);
  return words.total === 0 ? answered : { mode: SearchMode.KEYWORD, page: words, degraded: UNAVAILABLE['no vectors'] };
}

async function byWords(
  { index, resources }: SearchParts,
  question: Question,
  context: CallContext,
): Promise<FilledPage> {
  try {
    return await pageByWords(index, resources, question, context);
  } catch (error) {
    if (error instanceof IndexFailure) throw DependencyUnavailable({}, { retryAfter: 1, cause: error });
    throw error;
  }
}

const unavailable = (why: string): Warning => ({
  code: 'embeddings_unavailable',
  message: `Only the words were searched for, not their meaning: ${why}.`,
});

const UNAVAILABLE = {
  off: unavailable('embeddings are off'),
  'no vectors': unavailable('nothing is embedded yet'),
  'no answer': unavailable('the embedding model does not answer'),
  failed: unavailable('the vectors cannot be read'),
  'no texts': unavailable('names and comments are searched only by their words'),
};

type VectorOrWarning = { readonly vector: QueryVector | undefined } | { readonly degraded: Warning };

/**
 * Returns the vector to search with, which is undefined when meaning has weight 0, or the reason why only keywords are
 * searched. Returns undefined when only keywords were requested, as by operators alone, which have no meaning.
 */
async function meaningOf(
  { embedQuery, usage }: SearchParts,
  { request }: Question,
  context: CallContext,
): Promise<VectorOrWarning | undefined> {
  const { mode, alpha, plan, fields } = request;
  if (mode === 'keyword' || plan.words === '') return undefined;
  if (mode === 'hybrid' && alpha === 0) return { vector: undefined };
  if (!fields.includes('text')) return { degraded: UNAVAILABLE['no texts'] };
  const count: CountQuery | undefined =
    usage && ((counted, model) => usage.add({ ...attributionOf(context.caller), feature: 'search', model }, counted));
  const embedded = embedQuery === undefined ? 'off' : await embedQuery(plan.words, count);
  return typeof embedded === 'string' ? { degraded: UNAVAILABLE[embedded] } : { vector: embedded };
}

function warn({ page, degraded, incomplete }: Answer, { reply }: CallContext): void {
  const warnings: Warning[] = [];
  if (degraded !== undefined) warnings.push(degraded);
  if (incomplete) {
    const message = 'Not everything is embedded yet: the rest is found only by its words.';
    warnings.push({ code: 'embeddings_incomplete', message });
  }
  if (!page.complete) {
    warnings.push({ code: 'index_incomplete', message: 'The index is being built: some resources are not in it yet.' });
  }
  if (warnings.length > 0) reply.warnings = [...(reply.warnings ?? []), ...warnings];
}
