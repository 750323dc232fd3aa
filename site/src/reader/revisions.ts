import { maxEntries } from '@commonplace/kit/cache';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService, Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import { LRUCache } from 'lru-cache';

/** Milliseconds for which a revision is considered current if this process receives changes. */
const FRESH_MS = 1000;
const MAX_KEPT = 10_000;

interface Known {
  readonly revision: Revision;
  readonly checkedAt: number;
  readonly validUntil: number;
}

/** The time of a question, and the number of changes known by then. */
export interface Moment {
  readonly at: number;
  readonly epoch: number;
}

/** Decides whether cached pages are still current. */
export interface Revisions {
  /** Returns the current revision if it is known; undefined if it has to be asked for. */
  known(key: string): Revision | undefined;
  /**
   * Asks for the revision, once for all callers that wait. No caller gets an answer that was requested before its call.
   */
  ask(key: string, address: ReaderAddress, options: CallOptions): Promise<Revision>;
  /** Returns the present moment, to be taken before a call whose answer contains a revision. */
  moment(): Moment;
  /** Caches a revision from the answer of a call; `asked` is the moment before that call. */
  learn(key: string, revision: Revision | undefined, asked: Moment): void;
  /** Invalidates all revisions after a change. */
  forget(): void;
}

export interface RevisionsOptions {
  /** Whether this process calls `forget` before a change is answered; if not, every request asks for the revision. */
  readonly isTold: boolean;
  readonly now?: () => number;
}

/**
 * Creates the cache. A page that is restricted or unpublished is gone for every request after the answer to that
 * change: a process that receives changes asks again from then on, and one that does not always asks.
 */
export function createRevisions(
  reader: Pick<Client<ReaderService>, 'getRevision'>,
  { isTold, now = Date.now }: RevisionsOptions,
): Revisions {
  const kept = new LRUCache<string, Known>(maxEntries(MAX_KEPT));
  const running = new Map<string, Promise<Revision>>();
  const next = new Map<string, Promise<Revision>>();
  let epoch = 0;

  function keep(key: string, revision: Revision, asked: Moment): void {
    if (!isTold || asked.epoch !== epoch) return;
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
