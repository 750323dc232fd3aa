import { LRUCache } from 'lru-cache';
import { type Bounds, isCancelled } from '../deadline/index.js';
import { AppError } from '../errors/index.js';
import { maxEntries } from './max-entries.js';

/** Caches what calls fetch from another service. Calls that need the same at the same time share one fetch. */
interface SharedFetches<T, Call extends Bounds> {
  /** Returns what is cached, or fetches it within the deadline of a call. */
  of(key: string, call: Call): Promise<T>;
  /** Fetches anew, and caches the result. */
  fresh(key: string, call: Call): Promise<T>;
  clear(): void;
}

interface SharedFetchesOptions<T, Call extends Bounds> {
  fetch(key: string, call: Call): Promise<T>;
  readonly maxCount: number;
  /** Maximum age in milliseconds. */
  readonly maxAgeMs: number;
}

/** Creates a cache of fetches. What fails is not cached. */
export function createSharedFetches<T, Call extends Bounds>({
  fetch,
  maxCount,
  maxAgeMs,
}: SharedFetchesOptions<T, Call>): SharedFetches<T, Call> {
  const cache = new LRUCache<string, Promise<T>>({ ...maxEntries(maxCount), ttl: maxAgeMs, ttlResolution: 50 });
  const running = new WeakSet<Promise<T>>();

  function fresh(key: string, call: Call): Promise<T> {
    const fetched = fetch(key, call);
    cache.set(key, fetched);
    running.add(fetched);
    fetched.then(
      () => running.delete(fetched),
      () => {
        running.delete(fetched);
        if (cache.peek(key) === fetched) cache.delete(key);
      },
    );
    return fetched;
  }

  function of(key: string, call: Call): Promise<T> {
    const known = cache.get(key);
    if (known === undefined) return fresh(key, call);
    if (!running.has(known)) return known;
    return known.catch((error) => {
      if (!isOfCall(error) || isOver(call)) throw error;
      return of(key, call);
    });
  }

  return { of, fresh, clear: () => cache.clear() };
}

/**
 * Errors that concern only the call that started a fetch: its cancellation, its deadline, or the expiry of its caller
 * token. Other calls that wait for the fetch do not fail with them.
 */
const OF_CALL: ReadonlySet<AppError['code']> = new Set(['CANCELLED', 'DEADLINE_EXCEEDED', 'UNAUTHENTICATED']);

function isOfCall(error: unknown): boolean {
  return error instanceof AppError && OF_CALL.has(error.code);
}

function isOver(call: Bounds): boolean {
  return isCancelled(call) || call.deadline <= Date.now();
}
