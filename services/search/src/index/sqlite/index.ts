import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { LRUCache } from 'lru-cache';
import type { EmbeddingModel } from '../../embedding/port.js';
import type {
  EntryState,
  IndexAnswer,
  IndexQuery,
  IndexStats,
  NearHit,
  RankAnswer,
  Rebuild,
  SearchIndex,
  UnembeddedEntry,
  VectorStats,
} from '../port.js';
import type { Limits } from './file.js';
import type { Inspection } from './inspect.js';
import { openIndexThread } from './thread.js';

/** Characters of cached answers, of one or two bytes each. */
const MAX_CACHED_ANSWER_CHARS = 8_000_000;

/** Entries that are added to a new index at once, so that searches do not wait long. */
const FILLED_AT_ONCE = 48;

interface SqliteIndexOptions {
  /** Path of the index file, which is created if it is missing. */
  readonly path: string;
  /** Whether answers are cached until the next write; true by default. */
  readonly keepAnswers?: boolean;
  /** Limits of the caches in memory. */
  readonly limits?: Limits;
}

/**
 * Opens a search index in one SQLite file, which a thread of its own accesses. An answer depends only on the index and
 * on the query, which includes what the caller may find, so it is cached until a write is acknowledged.
 */
export async function openSqliteIndex({ path, limits, keepAnswers = true }: SqliteIndexOptions): Promise<SearchIndex> {
  const thread = openIndexThread({ path, limits });
  const answers = new LRUCache<string, IndexAnswer>({ maxSize: MAX_CACHED_ANSWER_CHARS, max: 2000 });
  const stats = async (): Promise<IndexStats> => (await thread.do({ kind: 'stats' })) as IndexStats;

  const inspect = (question: Inspection): Promise<unknown> => thread.do({ kind: 'inspect', question });

  /** Runs a write and clears the cached answers, even if it fails. */
  async function write(task: Parameters<typeof thread.do>[0]): Promise<void> {
    try {
      await thread.do(task);
    } finally {
      answers.clear();
    }
  }

  async function search(query: IndexQuery): Promise<IndexAnswer> {
    const question = JSON.stringify(query);
    const known = answers.get(question);
    if (known !== undefined) return known;
    const text = (await thread.do({ kind: 'search', query: question })) as string;
    const answer = JSON.parse(text) as IndexAnswer;
    if (keepAnswers) answers.set(question, answer, { size: question.length + text.length });
    return answer;
  }

  async function rebuild(): Promise<Rebuild> {
    await thread.do({ kind: 'beginRebuild' });
    return {
      async add(entries: readonly IndexEntry[]) {
        for (let at = 0; at < entries.length; at += FILLED_AT_ONCE) {
          await thread.do({ kind: 'fill', entries: entries.slice(at, at + FILLED_AT_ONCE) });
        }
      },
      commit: () => write({ kind: 'commitRebuild' }),
      abort: () => write({ kind: 'abortRebuild' }),
    };
  }

  await stats();
  return {
    needsRebuild: async () => !(await stats()).complete,
    requireAvailable: async () => {},
    upsert: (entries) => write({ kind: 'upsert', entries }),
    remove: (ids) => write({ kind: 'remove', ids }),
    search,
    rebuild,
    stats,
    counts: async () => new Map((await inspect({ about: 'counts' })) as [string, number][]),
    states: async (ids) => new Map((await inspect({ about: 'states', ids })) as [string, EntryState][]),
    idsOf: async (workspaceId) => (await inspect({ about: 'idsOf', workspaceId })) as string[],
    sample: async (count) => (await inspect({ about: 'sample', count })) as string[],
    unembedded: async (model, limit) => (await thread.do({ kind: 'unembedded', model, limit })) as UnembeddedEntry[],
    async putVectors(model, entries) {
      await thread.do({ kind: 'putVectors', model, entries });
    },
    nearest: async (query) => JSON.parse((await thread.do({ kind: 'nearest', query })) as string) as NearHit[],
    rank: async ({ vector, ...query }) =>
      JSON.parse((await thread.do({ kind: 'rank', query: JSON.stringify(query), vector })) as string) as RankAnswer,
    vectorStats: async (model) => (await thread.do({ kind: 'vectorStats', model })) as VectorStats,
    models: async () => (await thread.do({ kind: 'models' })) as EmbeddingModel[],
    async dropVectors(model) {
      await thread.do({ kind: 'dropVectors', model });
    },
    close: () => thread.close(),
  };
}
