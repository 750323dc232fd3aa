import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log/index.js';
import { gauge } from '../telemetry/index.js';

/** A server that the handlers of events need. */
export interface Dependency {
  /** Names it in logs: `MongoDB`. */
  readonly name: string;
  /** Rejects while no call to it can succeed. */
  check(): Promise<unknown>;
}

interface OutageOptions {
  readonly log: Log;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  readonly retryMs?: number;
}

/** Milliseconds between two checks, and between two log lines that name the dependency. */
const RETRY_MS = 2000;
const REMIND_MS = 60_000;

/** Number of handlers that wait for a server, by its name. A server that was waited for once stays, with 0. */
const waiting = new Map<string, number>();
const waits = gauge('consumer.waiting', '{consumer}', 'Consumers that wait for a server that is unavailable.');
waits.observe(() => [...waiting].map(([server, value]) => ({ attributes: { 'server.name': server }, value })));

/**
 * Resolves once a dependency is available, or the signal aborts. The handler of an event that failed waits here before it
 * throws: an outage of any length then costs the event one attempt, because the event is not at fault. Logs the
 * dependency as `events.waiting`, and reports it in the metric `consumer.waiting`.
 */
export async function untilAvailable({ name, check }: Dependency, options: OutageOptions): Promise<void> {
  const { log, signal, retryMs = RETRY_MS } = options;
  const since = Date.now();
  let reminded: number | undefined;
  while (!signal.aborted) {
    const failure = await unlessAborted(check(), signal).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (failure === undefined) break;
    if (signal.aborted) break;
    if (reminded === undefined) count(name, 1);
    if (reminded === undefined || Date.now() - reminded >= REMIND_MS) {
      reminded = Date.now();
      log.warn('events.waiting', { server: name, waited_ms: reminded - since, error: failure.error });
    }
    await sleep(retryMs, undefined, { signal }).catch(() => {});
  }
  if (reminded === undefined) return;
  count(name, -1);
  if (!signal.aborted) log.info('events.continued', { server: name, waited_ms: Date.now() - since });
}

function count(server: string, change: 1 | -1): void {
  waiting.set(server, (waiting.get(server) ?? 0) + change);
}

/** Rejects as soon as the signal aborts, even if the work hangs. */
async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: ended.signal });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    ended.abort();
  }
}
