import type { Handlers } from '@commonplace/kit/rpc';
import type {
  EntryService,
  FindEntriesRequest,
  FindEntriesResponse,
} from '@commonplace/proto/search/v1/entry_service.js';
import { parseQuery } from '../domain/query.js';
import { DependencyUnavailable } from '../errors.js';
import { HAS_ALL, IndexFailure, type SearchIndex } from '../index/port.js';

const MOST = 500;

/** What other services ask of the index: candidates, which they look at themselves. */
export function createEntryHandlers(index: Pick<SearchIndex, 'search'>): Handlers<EntryService> {
  return {
    async findEntries(request) {
      try {
        return await find(index, request);
      } catch (error) {
        if (error instanceof IndexFailure) throw DependencyUnavailable({}, { retryAfter: 1, cause: error });
        throw error;
      }
    },
  };
}

async function find(
  index: Pick<SearchIndex, 'search'>,
  { workspaceId, boundaryId, parentId, words, offset, limit }: FindEntriesRequest,
): Promise<FindEntriesResponse> {
  const { hits, more, complete } = await index.search({
    plan: parseQuery(words.map(asWord).join(' ')),
    filter: {
      workspaceIds: [workspaceId],
      openWorkspaceIds: [],
      boundaryIds: [boundaryId],
      principals: [],
      granted: [],
      tagIds: [],
      tagTerms: [],
    },
    narrowing: parentId === '' ? {} : { parentId },
    offset: Math.max(offset, 0),
    limit: Math.min(Math.max(limit, 1), MOST),
    highlight: false,
    bare: true,
  });
  const found = hits.filter(({ score }) => score >= HAS_ALL);
  // Those that have all words stand first: behind the first that has not there is none.
  return { ids: found.map(({ id }) => id), more: more && found.length === hits.length, complete };
}

/** Nothing that a reader writes is an operator of the query language. */
const asWord = (word: string): string => word.replace(/["\u201c\u201d\u201e\u300c\u300d\uff02:]|^-+/g, ' ');
