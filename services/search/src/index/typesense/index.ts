import { maxEntries } from '@commonplace/kit/cache';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { LRUCache } from 'lru-cache';
import {
  IndexFailure,
  type IndexStats,
  type Rebuild,
  type SearchIndex,
  type UnembeddedEntry,
  type VectorStats,
} from '../port.js';
import { rank } from '../rank/index.js';
import { openServer, type ServerOptions } from './client.js';
import type { Filter } from './filter.js';
import { createGenerations } from './generations.js';
import { typeOf } from './hits.js';
import { createInspection } from './inspect.js';
import { takeLock } from './lock.js';
import { allOf } from './lookup.js';
import { createModels } from './models.js';
import { isIncomplete, namingFor } from './names.js';
import { nearest } from './nearest.js';
import { search } from './search.js';
import { type Token, tokenValue } from './tokens.js';
import { dropUnkept, presentWith, presentWithout, putVectors } from './vectors.js';
import { applyChanges, fill, foldChanges } from './write.js';

interface TypesenseIndexOptions extends ServerOptions {
  /** Prefix of the names of all collections and aliases of an installation: letters `a-z` and digits. */
  readonly prefix: string;
}

const MAX_CACHED_WORDS = 300_000;
const MAX_CACHED_WORKSPACES = 100_000;
/** Entries that are changed at once. */
const CHANGED_AT_ONCE = 100;

/**
 * Opens a search index in collections of Typesense, which several processes may use at once. No request is sent before
 * the first call, and each call retries what an earlier one failed to set up.
 */
export function openTypesenseIndex({ prefix, ...options }: TypesenseIndexOptions): SearchIndex {
  const server = openServer(options);
  const naming = namingFor(prefix);
  const generations = createGenerations(server, naming);
  const models = createModels(server, naming);
  const vectors = { server, models, generations };
  const writing = { ...vectors, knownWords: new LRUCache<string, true>(maxEntries(MAX_CACHED_WORDS)) };
  const searching = {
    server,
    names: naming.current,
    partitions: new LRUCache<string, Token>(maxEntries(MAX_CACHED_WORKSPACES)),
  };
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;

  /** Runs the writes of this process one after the other, because they read the stored state first. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new IndexFailure('the index is closed'));
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  async function change(changes: Parameters<typeof foldChanges>[0]): Promise<void> {
    const folded = foldChanges(changes);
    for (let at = 0; at < folded.length; at += CHANGED_AT_ONCE) {
      const some = folded.slice(at, at + CHANGED_AT_ONCE);
      await generations.onEach((names, filling) => applyChanges(writing, names, filling, some));
    }
  }

  async function stats(): Promise<IndexStats> {
    const current = await generations.current();
    const [found] = await server.search([{ collection: current, q: '*', filter_by: 'gone:!=true', per_page: 0 }]);
    return { entries: found?.found ?? 0, bytes: await server.memory(), complete: !isIncomplete(current) };
  }

  async function unembedded(model: string, limit: number): Promise<readonly UnembeddedEntry[]> {
    const current = await generations.current();
    const record = await models.find(model);
    const search = { collection: current, q: '*', filter_by: presentWithout(record?.key), sort_by: 'written:desc' };
    const documents = await allOf(
      server,
      { ...search, include_fields: 'entry,workspace,type,name,text,text_hash' },
      limit,
    );
    return documents.map((document) => ({
      id: String(document.entry),
      workspaceId: tokenValue(String(document.workspace)) ?? '',
      type: typeOf(document),
      name: String(document.name),
      text: String(document.text),
      textHash: String(document.text_hash),
    }));
  }

  async function vectorStats(model: string): Promise<VectorStats> {
    const collection = await generations.current();
    const record = await models.find(model);
    const count = (search: object) => ({ collection, q: '*', per_page: 0, ...search });
    const [pending, embedded, chunks] = await server.search([
      count({ filter_by: presentWithout(record?.key) }),
      ...(record === undefined
        ? []
        : [count({ filter_by: presentWith(record.key) }), count({ collection: record.chunks })]),
    ]);
    return { embedded: embedded?.found ?? 0, pending: pending?.found ?? 0, chunks: chunks?.found ?? 0 };
  }

  async function rebuild(): Promise<Rebuild> {
    await generations.ready();
    const lock = await takeLock(server, naming.locks);
    try {
      const names = await generations.begin();
      return {
        add: (entries: readonly IndexEntry[]) =>
          inTurn(async () => {
            lock.check();
            await fill(writing, names, entries);
          }),
        commit: () =>
          inTurn(async () => {
            try {
              lock.check();
              await generations.switchTo(names);
              await server.deleteWhere(names.entries, 'gone:=true' as Filter);
              await dropUnkept(vectors, names.entries);
            } finally {
              await lock.release();
            }
          }),
        abort: () => inTurn(() => generations.drop(names).finally(() => lock.release())),
      };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  const index: SearchIndex = {
    needsRebuild: async () => !(await generations.isComplete()),
    requireAvailable: () => server.check(),
    upsert: (entries) => inTurn(() => change(entries.map((upsert) => ({ upsert })))),
    remove: (ids) => inTurn(() => change(ids.map((remove) => ({ remove })))),
    async search(query) {
      if (closed) throw new IndexFailure('the index is closed');
      const whole = await generations.recallComplete();
      return { ...(await search(searching, query)), complete: whole };
    },
    rebuild,
    stats,
    ...createInspection(server, naming.current.entries, generations.ready),
    unembedded,
    putVectors: (model, entries) => inTurn(() => putVectors(vectors, model, entries)),
    async nearest(query) {
      await generations.ready();
      return nearest({ server, models, entries: naming.current.entries }, query);
    },
    rank: (query) => rank(index, query),
    vectorStats,
    async models() {
      await generations.ready();
      return (await models.all()).map(({ model }) => model);
    },
    dropVectors: (model) =>
      inTurn(async () => {
        await generations.ready();
        await models.drop(model);
      }),
    async close() {
      closed = true;
      await last;
      server.close();
    },
  };
  return index;
}
