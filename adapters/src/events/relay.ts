import { AppError } from '@commonplace/kit/errors';
import type { DomainEvent, EventBus } from '@commonplace/kit/events';
import { createWakeSignal } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { type Log, silentLog } from '@commonplace/kit/log';
import type { Outbox, TracedBus } from './outbox.js';

export type { Outbox, Position, TracedBus } from './outbox.js';

interface RelayOptions {
  readonly outbox: Outbox;
  readonly bus: EventBus | TracedBus;
  readonly log?: Log;
  /** Milliseconds between renewals of the lead, and between attempts of other instances to take it; 1000 when absent. */
  readonly pollMs?: number;
  /** Milliseconds between polls of the outbox if no commit wakes the relay; 5000 when absent. */
  readonly lookMs?: number;
  /** Milliseconds between checks that the bus has the events that it acknowledged; 60,000 when absent. */
  readonly checkMs?: number;
}

export interface Relay {
  /** Publishes the events committed so far, if the bus accepts them, and stops. */
  close(): Promise<void>;
}

/** Number of events that are read, published and marked at a time. */
const BATCH = 256;
/** First and maximum backoff in milliseconds after a failed round; it is doubled each time. */
const [MIN_BACKOFF_MS, MAX_BACKOFF_MS] = [100, 5000];

/**
 * Publishes the events of an outbox in order, with their ids. One of several instances does the work; if two do for a
 * moment, the bus drops duplicates. If the bus has lost events that it acknowledged, they are published again.
 */
export function startRelay(options: RelayOptions): Relay {
  const { outbox, bus, log = silentLog, pollMs = 1000, lookMs = 5000, checkMs = 60_000 } = options;
  const instance = newId();
  const signal = createWakeSignal();
  let closing = false;
  let leading = false;
  let renewed = Number.NEGATIVE_INFINITY;
  let checked = Number.NEGATIVE_INFINITY;
  /** Whether there may be events that the last look at the outbox did not find. */
  let mayHaveEvents = true;
  let looked = Number.NEGATIVE_INFINITY;
  let unwatch: (() => void) | undefined;

  const wake = (): void => {
    mayHaveEvents = true;
    signal.wake();
  };
  const lead = async (): Promise<boolean> => {
    if (leading && performance.now() - renewed < pollMs) return true;
    leading = await outbox.lead(instance);
    renewed = performance.now();
    if (leading) unwatch ??= outbox.onCommit(wake);
    else {
      mayHaveEvents = true;
      unwatch?.();
      unwatch = undefined;
      checked = Number.NEGATIVE_INFINITY;
    }
    return leading;
  };
  const check = async (): Promise<void> => {
    if (!isTraced(bus) || performance.now() - checked < checkMs) return;
    const count = await replayLost(outbox, bus);
    checked = performance.now();
    if (count > 0) log.warn('relay.replayed', { count });
    mayHaveEvents ||= count > 0;
  };
  /** Returns whether more events may be pending. */
  const round = async (): Promise<boolean> => {
    if (!(await lead())) return false;
    await check();
    const now = performance.now();
    if (!mayHaveEvents && now - looked < lookMs) return false;
    // A commit during the look asks for another one.
    mayHaveEvents = false;
    looked = now;
    if ((await publishPending(outbox, bus, log)) === BATCH) mayHaveEvents = true;
    return mayHaveEvents;
  };
  const unhook = isTraced(bus)
    ? bus.onReconnect(() => {
        checked = Number.NEGATIVE_INFINITY;
        wake();
      })
    : () => {};

  const run = async (): Promise<void> => {
    for (let pause = MIN_BACKOFF_MS; !closing; ) {
      try {
        if (!(await round()) && !closing) await signal.wait(pollMs);
        pause = MIN_BACKOFF_MS;
      } catch (error) {
        log.warn('relay.failed', { error });
        mayHaveEvents = true;
        if (!closing) await signal.sleep(pause);
        pause = Math.min(pause * 2, MAX_BACKOFF_MS);
      }
    }
  };
  const running = run();
  return {
    close: async () => {
      closing = true;
      signal.close();
      await running;
      unhook();
      unwatch?.();
      if (!leading) return;
      await publishPending(outbox, bus, log).catch((error: unknown) => log.warn('relay.failed', { error }));
      await outbox.resign(instance).catch(() => {});
    },
  };
}

function isTraced(bus: EventBus | TracedBus): bus is TracedBus {
  return 'publishTraced' in bus;
}

/** Publishes the first pending entries and returns their number. */
async function publishPending(outbox: Outbox, bus: EventBus | TracedBus, log: Log): Promise<number> {
  const events = await outbox.pending(BATCH);
  if (events.length === 0) return 0;
  try {
    await publish(outbox, bus, events);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await publishSingly(outbox, bus, events, log);
  }
  return events.length;
}

async function publish(outbox: Outbox, bus: EventBus | TracedBus, events: readonly DomainEvent[]): Promise<void> {
  if (isTraced(bus)) return outbox.published(events, await bus.publishTraced(events));
  await bus.publish(events);
  return outbox.published(events);
}

/** Publishes events one by one, so that an event that the bus never accepts does not block the others. */
async function publishSingly(
  outbox: Outbox,
  bus: EventBus | TracedBus,
  events: readonly DomainEvent[],
  log: Log,
): Promise<void> {
  for (const event of events) {
    try {
      await publish(outbox, bus, [event]);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      log.error('relay.refused', { id: event.id, type: event.type, error });
      await outbox.refused(event, (error as Error).message);
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.code === 'INVALID_ARGUMENT';
}

/** Finds the last published entry that the bus still has, and marks the entries after it as pending. */
async function replayLost(outbox: Outbox, bus: TracedBus): Promise<number> {
  for (let skip = 0; ; skip = skip * 2 + 1) {
    const last = await outbox.lastPublished(skip);
    if (last === undefined) return skip === 0 ? 0 : outbox.replay();
    if (await bus.holds(last.position, last.id)) return skip === 0 ? 0 : outbox.replay(last.position);
  }
}
