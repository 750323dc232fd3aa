import type { Log } from '@commonplace/kit/log';
import type { SearchIndex } from '../index/port.js';
import { pause } from '../pause.js';
import type { DriftCheck } from './drift.js';

interface RecheckParts {
  readonly check: Pick<DriftCheck, 'of'>;
  readonly log: Log;
  /** Milliseconds between a write and its check; 2,000 by default. */
  readonly afterMs?: number;
}

/** Checks writes to an index that other processes write to as well. */
interface Recheck {
  /** Wraps an index so that its writes are checked. */
  watch(index: SearchIndex): SearchIndex;
  close(): Promise<void>;
}

const RECHECK_DELAY_MS = 2000;
const AT_ONCE = 500;

/**
 * Creates the check of writes. A process reads an entry from its owner and writes it to the index; in between another
 * process may have written a newer one. Each writer therefore checks later that the index has the owner's state, and
 * otherwise repairs it, which is checked in turn: so the index converges to the tree without a lock.
 */
export function createRecheck({ check, log, afterMs = RECHECK_DELAY_MS }: RecheckParts): Recheck {
  const stop = new AbortController();
  let noted = new Set<string>();
  let running: Promise<void> | undefined;

  function note(ids: readonly string[]): void {
    for (const id of ids) noted.add(id);
    if (noted.size > 0 && !stop.signal.aborted) running ??= run();
  }

  async function run(): Promise<void> {
    while (noted.size > 0) {
      await pause(afterMs, stop.signal);
      if (stop.signal.aborted) break;
      const ids = [...noted].slice(0, AT_ONCE);
      for (const id of ids) noted.delete(id);
      try {
        await check.of(ids);
      } catch (error) {
        log.warn('index.recheck_failed', { error });
        noted = new Set([...ids, ...noted]);
      }
    }
    running = undefined;
  }

  return {
    watch: (index) => ({
      ...index,
      async upsert(entries) {
        await index.upsert(entries);
        note(entries.map(({ id }) => id));
      },
      async remove(ids) {
        await index.remove(ids);
        note(ids);
      },
    }),
    async close() {
      stop.abort();
      await running;
    },
  };
}
