import { contracts } from '@commonplace/platform/contracts';
import { type Host, type Implementation, implement } from '@commonplace/platform/runtime';
import type { Indexer } from '../events.js';
import type { SearchIndex } from '../index/port.js';
import type { OpenedIndex } from '../open-index.js';
import { createDriftCheck, type DriftCheck } from './drift.js';
import { createUpkeepHandlers } from './handlers.js';
import { createRecheck } from './recheck.js';
import { type Schedule, startSchedule } from './schedule.js';

/** Keeps the index in sync with the tree where events have not. */
interface Upkeep {
  /** The index that the other parts have to use. */
  readonly index: SearchIndex;
  /** Returns the number of events that wait for the index. Rejects when the broker does not answer. */
  indexLag(): Promise<number>;
  implementation(indexer: Indexer): Implementation;
  /** Starts the scheduled checks. */
  begin(indexer: Indexer): void;
  close(): Promise<void>;
}

/** Name of the durable consumer of the index. */
export const CONSUMER = 'search-index';
const MINUTE_MS = 60_000;

export function startUpkeep(
  host: Host<typeof contracts.index>,
  { index: opened, shared }: OpenedIndex,
  checkMinutes: number,
): Upkeep {
  const { log, bus, systemCall } = host;
  const stop = new AbortController();
  const resources = host.client(contracts.index);
  const recheck = createRecheck({ check: { of: (ids) => check.of(ids) }, log });
  const index = shared ? recheck.watch(opened) : opened;
  const check: DriftCheck = createDriftCheck({ index, resources, systemCall, log });
  const indexLag = (): Promise<number> => bus.lag(CONSUMER);
  let schedule: Schedule | undefined;
  return {
    index,
    indexLag,
    implementation: (indexer) =>
      implement(
        contracts.searchUpkeep,
        createUpkeepHandlers({ index, indexer, check, waitingEvents: indexLag, signal: stop.signal, log }),
      ),
    begin({ ensureBuilt }) {
      const everyMs = checkMinutes * MINUTE_MS;
      schedule = startSchedule({ check, ensureBuilt, waitingEvents: indexLag, log, everyMs });
    },
    async close() {
      stop.abort();
      await Promise.all([schedule?.close(), recheck.close()]);
    },
  };
}
