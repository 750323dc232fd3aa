import type { Handlers } from '@commonplace/kit/rpc';
import type {
  EntryService,
  FindEntriesRequest,
  FindEntriesResponse,
} from '@commonplace/proto/search/v1/entry_service.js';
import { parseQuery } from '../domain/query.js';
import { DependencyUnavailable } from '../errors.js';
import { IndexFailure, type SearchIndex } from '../index/port.js';

const MAX_ENTRIES = 500;

/** Serves the calls of other services on the index. They check the access to the returned candidates themselves. */
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
      lost: [],
      tagIds: [],
      tagTerms: [],
    },
    narrowing: parentId === '' ? {} : { parentId },
    offset: Math.max(offset, 0),
    limit: Math.min(Math.max(limit, 1), MAX_ENTRIES),
    highlight: false,
    bare: true,
    every: true,
  });
  return { ids: hits.map(({ id }) => id), more, complete };
}

/** Removes operators of the query language from what a reader typed. */
const asWord = (word: string): string => word.replace(/["\u201c\u201d\u201e\u300c\u300d\uff02:]|^-+/g, ' ');
