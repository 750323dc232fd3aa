import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService, Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import { LRUCache } from 'lru-cache';

/** Milliseconds for which a revision is taken for the present one: what is taken back is gone after so long. */
const FRESH_MS = 1000;
const MAX_KEPT = 10_000;

interface Known {
  readonly revision: Revision;
  readonly checkedAt: number;
  readonly validUntil: number;
}

/** Tells whether kept pages are still as they were. */
export interface Revisions {
  /** The present one where that is known without asking; undefined where it is to be asked for. */
  known(key: string): Revision | undefined;
  /** Asks, once for all who wait. */
  ask(key: string, address: ReaderAddress, options: CallOptions): Promise<Revision>;
  /** Takes one that came with an answer. */
  learn(key: string, revision: Revision | undefined): void;
}

export function createRevisions(reader: Pick<Client<ReaderService>, 'getRevision'>, now = Date.now): Revisions {
  const kept = new LRUCache<string, Known>({ max: MAX_KEPT });
  const asked = new Map<string, Promise<Revision>>();

  /** `checkedAt` is when it was asked for: it is no newer than that. */
  const keep = (key: string, revision: Revision, checkedAt: number) => {
    const validUntil = revision.validUntil === undefined ? Number.POSITIVE_INFINITY : Date.parse(revision.validUntil);
    kept.set(key, { revision, checkedAt, validUntil });
    return revision;
  };

  return {
    known(key) {
      const found = kept.get(key);
      const time = now();
      return found !== undefined && time - found.checkedAt < FRESH_MS && time < found.validUntil
        ? found.revision
        : undefined;
    },
    ask(key, address, options) {
      const under = asked.get(key);
      if (under !== undefined) return under;
      const checkedAt = now();
      const answer = reader
        .getRevision({ address }, options)
        .then((revision) => keep(key, revision, checkedAt))
        .finally(() => asked.delete(key));
      asked.set(key, answer);
      return answer;
    },
    learn(key, revision) {
      if (revision !== undefined) keep(key, revision, now());
    },
  };
}
