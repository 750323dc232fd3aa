import { maxEntries } from '@commonplace/kit/cache';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService, Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import { LRUCache } from 'lru-cache';

/** Milliseconds for which a cached revision counts as current, in a process that receives changes. */
const FRESH_MS = 1000;
const MAX_KEPT = 10_000;

interface Known {
  readonly revision: Revision;
  readonly checkedAt: number;
  readonly validUntil: number;
}

/** A point in time, and the number of changes received by then. */
interface Moment {
  readonly at: number;
  readonly epoch: number;
}

/** Determines whether cached pages are still current. */
export interface Revisions {
  /** Returns the current revision from the cache; undefined if it has to be requested. */
  known(key: string): Revision | undefined;
  /**
   * Requests the revision, with one call for all waiting callers. A caller never gets a revision that was requested
   * before its own call, unless `known` still returns it.
   */
  ask(key: string, address: ReaderAddress, options: CallOptions): Promise<Revision>;
  /** Returns the present moment. It has to be taken before a call whose answer contains a revision. */
  moment(): Moment;
  /** Caches a revision from the answer of a call. `asked` is the moment before that call. */
  learn(key: string, revision: Revision | undefined, asked: Moment): void;
  /** Invalidates all revisions after a change. */
  forget(): void;
}

interface RevisionsOptions {
  /**
   * Whether this process calls `forget` before a change is answered. If not, nothing is cached and every request asks
   * for the revision.
   */
  readonly receivesChanges: boolean;
  readonly now?: () => number;
}

/**
 * Creates the cache of revisions. Once a restriction or unpublishing has been answered, no later request gets the page:
 * a process that receives changes asks again after each, and any other process asks for every request.
 */
export function createRevisions(
  reader: Pick<Client<ReaderService>, 'getRevision'>,
  { receivesChanges, now = Date.now }: RevisionsOptions,
): Revisions {
  const kept = new LRUCache<string, Known>(maxEntries(MAX_KEPT));
  const running = new Map<string, Promise<Revision>>();
  const next = new Map<string, Promise<Revision>>();
  let epoch = 0;

  function keep(key: string, revision: Revision, asked: Moment): void {
    if (!receivesChanges || asked.epoch !== epoch) return;
    const validUntil = revision.validUntil === undefined ? Number.POSITIVE_INFINITY : Date.parse(revision.validUntil);
    kept.set(key, { revision, checkedAt: asked.at, validUntil });
  }

  function begin(key: string, address: ReaderAddress, options: CallOptions): Promise<Revision> {
    const asked = revisions.moment();
    const answer = reader
      .getRevision({ address }, options)
      .then((revision) => {
        keep(key, revision, asked);
        return revision;
      })
      .finally(() => running.delete(key));
    running.set(key, answer);
    return answer;
  }

  const revisions: Revisions = {
    known(key) {
      const found = kept.get(key);
      const time = now();
      return found !== undefined && time - found.checkedAt < FRESH_MS && time < found.validUntil
        ? found.revision
        : undefined;
    },
    ask(key, address, options) {
      const before = running.get(key);
      if (before === undefined) return begin(key, address, options);
      const waiting = next.get(key);
      if (waiting !== undefined) return waiting;
      const later = before
        .catch(() => {})
        .then(() => {
          next.delete(key);
          return revisions.known(key) ?? begin(key, address, options);
        });
      next.set(key, later);
      return later;
    },
    moment: () => ({ at: now(), epoch }),
    learn(key, revision, asked) {
      if (revision !== undefined) keep(key, revision, asked);
    },
    forget() {
      epoch++;
      kept.clear();
    },
  };
  return revisions;
}
