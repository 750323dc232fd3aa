import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { LRUCache } from 'lru-cache';
import type { EmbeddingModel } from '../../embedding/port.js';
import type {
  EntryState,
  IndexAnswer,
  IndexQuery,
  IndexStats,
  NearHit,
  Rebuild,
  SearchIndex,
  Unembedded,
  VectorStats,
} from '../port.js';
import type { Limits } from './file.js';
import type { Inspection } from './inspect.js';
import { openIndexThread } from './thread.js';

/** Characters of answers that are kept; half of that many bytes or twice. */
const KEPT_ANSWERS = 8_000_000;

/** Entries put into a new index at once, so that searches do not wait long. */
const FILLED_AT_ONCE = 48;

export interface SqliteIndexOptions {
  /** The index's file; made where it is missing. */
  readonly path: string;
  /** Answers to questions that were asked before are kept until the next write; true when absent. */
  readonly keepAnswers?: boolean;
  /** What is kept in memory to answer from. */
  readonly limits?: Limits;
}

/**
 * A search index in one SQLite file, in a thread of its own. An answer depends on the question, with all that the
 * caller may find in it, and on the index alone: so it is kept until a write is acknowledged.
 */
export async function openSqliteIndex({ path, limits, keepAnswers = true }: SqliteIndexOptions): Promise<SearchIndex> {
  const thread = openIndexThread({ path, limits });
  const answers = new LRUCache<string, IndexAnswer>({ maxSize: KEPT_ANSWERS, max: 2000 });
  const stats = async (): Promise<IndexStats> => (await thread.do({ kind: 'stats' })) as IndexStats;

  const inspect = (question: Inspection): Promise<unknown> => thread.do({ kind: 'inspect', question });

  /** Answers from before are not given any more once a write is acknowledged, whether it succeeded or not. */
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
    upsert: (entries) => write({ kind: 'upsert', entries }),
    remove: (ids) => write({ kind: 'remove', ids }),
    search,
    rebuild,
    stats,
    counts: async () => new Map((await inspect({ about: 'counts' })) as [string, number][]),
    states: async (ids) => new Map((await inspect({ about: 'states', ids })) as [string, EntryState][]),
    idsOf: async (workspaceId) => (await inspect({ about: 'idsOf', workspaceId })) as string[],
    sample: async (count) => (await inspect({ about: 'sample', count })) as string[],
    unembedded: async (model, limit) => (await thread.do({ kind: 'unembedded', model, limit })) as Unembedded[],
    async putVectors(model, entries) {
      await thread.do({ kind: 'putVectors', model, entries });
    },
    nearest: async (query) => JSON.parse((await thread.do({ kind: 'nearest', query })) as string) as NearHit[],
    vectorStats: async (model) => (await thread.do({ kind: 'vectorStats', model })) as VectorStats,
    models: async () => (await thread.do({ kind: 'models' })) as EmbeddingModel[],
    async dropVectors(model) {
      await thread.do({ kind: 'dropVectors', model });
    },
    close: () => thread.close(),
  };
}
