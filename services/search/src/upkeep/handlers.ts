import type { Log } from '@commonplace/kit/log';
import type { Handlers } from '@commonplace/kit/rpc';
import type { UpkeepService } from '@commonplace/proto/search/v1/upkeep_service.js';
import type { Indexer } from '../events.js';
import type { SearchIndex } from '../index/port.js';
import type { DriftCheck } from './drift.js';

interface UpkeepParts {
  readonly index: SearchIndex;
  readonly indexer: Pick<Indexer, 'rebuild' | 'lag'>;
  readonly check: DriftCheck;
  readonly waitingEvents: () => Promise<number>;
  /** Aborts running rebuilds and checks. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Serves the operators' calls on the index. */
export function createUpkeepHandlers(parts: UpkeepParts): Handlers<UpkeepService> {
  const { index, indexer, check, waitingEvents, signal, log } = parts;
  return {
    async rebuildIndex() {
      indexer.rebuild(signal).catch((error) => {
        if (!signal.aborted) log.warn('index.rebuild_failed', { error });
      });
      return {};
    },
    async checkIndex() {
      return { ...(await check.full(signal)) };
    },
    async getIndexStatus() {
      const { entries, complete } = await index.stats();
      const waiting = await waitingEvents().catch(() => undefined);
      return { entries, complete, waitingEvents: waiting, lagMs: indexer.lag() };
    },
  };
}
