import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkDatabase } from '@commonplace/adapters/sqlite/file';
import { writeSmallFile } from '@commonplace/kit/durable';
import type { Log } from '@commonplace/kit/log';
import { gauge } from '@commonplace/kit/telemetry';

/**
 * Marker file in a data folder while a process has it open. If it exists at a start, the previous process did not end
 * cleanly.
 */
const MARKER = 'running';
/** File with the result of the last check of a data folder. */
const REPORT = 'last-check.json';

/** Result of the check of a database that was not closed cleanly. */
export interface CheckReport {
  /** RFC 3339. */
  readonly at: string;
  /** Faults of the database; empty if there are none. */
  readonly faults: readonly string[];
}

interface EndWatch {
  /** Records that the process ends cleanly; if the check is still running, the next start repeats it. */
  close(): Promise<void>;
}

const damaged = gauge(
  'store.damaged',
  '{state}',
  'Whether the check after an unclean end found the database damaged: 1 or 0.',
);

/**
 * Records that a database is open. If its last process did not end cleanly, the database is checked in the background,
 * because a power cut or a faulty disk may have damaged data that is not read for months.
 */
export function watchEnd(dataDir: string, file: string, log: Log): EndWatch {
  const marker = join(dataDir, MARKER);
  const wasLeftOpen = existsSync(marker);
  writeSmallFile(marker, `${new Date().toISOString()}\n`);
  let faulty = (readCheckReport(dataDir)?.faults.length ?? 0) > 0;
  const observed = damaged.observe(() => [{ attributes: {}, value: faulty ? 1 : 0 }]);
  const check = wasLeftOpen ? checkDatabase(file) : undefined;
  let isOver = check === undefined;
  const began = performance.now();
  const done = check?.faults.then((faults) => {
    if (faults === undefined) return;
    isOver = true;
    faulty = faults.length > 0;
    writeSmallFile(join(dataDir, REPORT), `${JSON.stringify({ at: new Date().toISOString(), faults })}\n`);
    const facts = { file, duration_ms: Math.round(performance.now() - began) };
    if (faulty) log.error('store.damaged', { ...facts, faults, advice: 'restore the last backup' });
    else log.info('store.checked', { ...facts, reason: 'the last process did not end well' });
  });
  done?.catch((error) => log.warn('store.check_failed', { file, error }));
  return {
    async close() {
      observed();
      if (!isOver) await check?.stop();
      await done?.catch(() => {});
      if (isOver) rmSync(marker, { force: true });
    },
  };
}

/** Returns the result of the last check of a data folder; undefined if there was none. */
export function readCheckReport(dataDir: string): CheckReport | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, REPORT), 'utf8')) as CheckReport;
  } catch {
    return undefined;
  }
}
