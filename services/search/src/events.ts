import { type DomainEvent, untilAvailable } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { fetchEntries } from './entries.js';
import { DependencyUnavailable } from './errors.js';
import { IndexUnavailable, type SearchIndex } from './index/port.js';
import { pause } from './pause.js';
import { createRecent, LONG_TEXT_CHARS, type Recent } from './recent.js';

interface IndexerParts {
  readonly index: SearchIndex;
  readonly resources: Pick<Client<IndexService>, 'getIndexEntries' | 'streamIndexEntries'>;
  /** Returns the options of a call without a caller, with a deadline in `timeoutMs`. */
  readonly systemCall: (timeoutMs?: number) => CallOptions;
  readonly log: Log;
  /** Called when entries have changed. */
  readonly changed?: () => void;
  /** Ends all waiting: delayed updates are indexed at once. */
  readonly signal?: AbortSignal;
  /** Milliseconds between two checks of an unavailable engine; see `untilAvailable`. */
  readonly retryMs?: number;
}

/** Keeps the index in sync with the tree. */
export interface Indexer {
  /**
   * Handles events of `INDEXED_EVENTS`, in any order and any number of times. While the engine of the index is
   * unavailable it waits, and then rejects with `DependencyUnavailable`, which does not count as an attempt.
   */
  handle(events: readonly DomainEvent[]): Promise<void>;
  /** Rebuilds the index from scratch; a concurrent call joins a running rebuild. `signal` aborts it. */
  rebuild(signal?: AbortSignal): Promise<void>;
  /** Rebuilds the index if it is incomplete, and retries until that succeeds or `signal` aborts. */
  ensureBuilt(signal: AbortSignal): Promise<void>;
  /** Returns the age in milliseconds of the oldest event that is not indexed yet; 0 when all are. */
  lag(): number;
}

/** Events that the indexer subscribes to. */
export const INDEXED_EVENTS: readonly string[] = [
  'commonplace.resources.resource.>',
  'commonplace.resources.content.>',
  'commonplace.resources.permission.>',
  'commonplace.resources.comment.>',
];

const GONE = /\.(purged|trashed)$/;
const FETCHED_AT_ONCE = 100;
const STREAMED_AT_ONCE = 200;
const REBUILD_TIMEOUT_MS = 6 * 3_600_000;
const NEVER = new AbortController().signal;
const RETRY_MS = [1000, 5000, 15_000, 60_000] as const;

export function createIndexer(parts: IndexerParts): Indexer {
  const recent = createRecent();
  // Batches are handled one after the other, so that nothing older is indexed after something newer.
  let last: Promise<void> = Promise.resolve();
  let rebuilding: Promise<void> | undefined;
  // Time of the oldest event of each unfinished batch; a batch that fails is delivered again.
  const waiting = new Map<readonly DomainEvent[], number>();

  const indexer: Indexer = {
    handle(events) {
      waiting.set(events, oldestOf(events));
      const done = last.then(() => apply(parts, recent, events)).catch((error) => failed(parts, error));
      last = done.catch(() => {}).finally(() => waiting.delete(events));
      return done;
    },
    rebuild(signal) {
      rebuilding ??= rebuild(parts, signal).finally(() => {
        rebuilding = undefined;
      });
      return rebuilding;
    },
    lag: () => (waiting.size === 0 ? 0 : Math.max(0, Date.now() - Math.min(...waiting.values()))),
    async ensureBuilt(signal) {
      for (let tries = 0; !signal.aborted; tries++) {
        try {
          if (await parts.index.needsRebuild()) await indexer.rebuild(signal);
          return;
        } catch (error) {
          if (signal.aborted) return;
          parts.log.warn('index.rebuild_failed', { error });
          await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] as number, signal);
        }
      }
    },
  };
  return indexer;
}

async function apply(parts: IndexerParts, recent: Recent, events: readonly DomainEvent[]): Promise<void> {
  const { index, changed: notify } = parts;
  const gone = new Set<string>();
  const changed = new Set<string>();
  for (const event of events) {
    for (const id of resourceIds(event)) (GONE.test(event.type) ? gone : changed).add(id);
  }
  await index.remove([...gone]);
  // The present state decides whether something was trashed or restored last, not the order of events.
  const { now, later, waitMs } = recent.split(changed, Date.now() - oldestOf(events));
  await putIn(parts, recent, now);
  if (later.length > 0) {
    if (now.length > 0) notify?.();
    await pause(waitMs, parts.signal);
    await putIn(parts, recent, later);
  }
  notify?.();
}

/** Rejects with why a batch failed, once the engine of the index is available. */
async function failed({ index, log, signal = NEVER, retryMs }: IndexerParts, error: unknown): Promise<never> {
  if (!(error instanceof IndexUnavailable)) throw error;
  const engine = { name: 'the search index', check: index.requireAvailable };
  await untilAvailable(engine, { log, signal, ...(retryMs !== undefined && { retryMs }) });
  throw DependencyUnavailable({}, { cause: error });
}

/** Indexes the present state of resources. */
async function putIn({ index, resources, systemCall }: IndexerParts, recent: Recent, ids: readonly string[]) {
  for (let at = 0; at < ids.length; at += FETCHED_AT_ONCE) {
    const some = ids.slice(at, at + FETCHED_AT_ONCE);
    let began = performance.now();
    for await (const { ids: requested, entries } of fetchEntries(resources, some, systemCall)) {
      const present = new Set(entries.map(({ id }) => id));
      await index.upsert(entries);
      await index.remove(requested.filter((id) => !present.has(id)));
      const longest = entries.reduce((most, { text }) => Math.max(most, text.length), 0);
      if (longest >= LONG_TEXT_CHARS) recent.note(entries, performance.now() - began);
      began = performance.now();
    }
  }
}

/** Returns when the oldest of some events happened. */
const oldestOf = (events: readonly DomainEvent[]): number => Math.min(...events.map(({ time }) => Date.parse(time)));

function resourceIds({ data }: DomainEvent): string[] {
  const { resourceIds: ids, resourceId: id } = data;
  if (typeof id === 'string') return [id];
  return Array.isArray(ids) ? ids.filter((one) => typeof one === 'string') : [];
}

async function rebuild(parts: IndexerParts, signal?: AbortSignal): Promise<void> {
  const { index, resources, systemCall, log, changed } = parts;
  const began = Date.now();
  const fresh = await index.rebuild();
  let count = 0;
  try {
    const options = { ...systemCall(REBUILD_TIMEOUT_MS), signal };
    for await (const { entries } of resources.streamIndexEntries({ batchSize: STREAMED_AT_ONCE }, options)) {
      signal?.throwIfAborted();
      await fresh.add(entries);
      count += entries.length;
    }
  } catch (error) {
    await fresh.abort();
    throw error;
  }
  await fresh.commit();
  changed?.();
  log.info('index.rebuilt', { entries: count, seconds: Math.round((Date.now() - began) / 1000) });
}
