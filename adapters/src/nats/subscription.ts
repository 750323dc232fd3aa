import type { DomainEvent, SubscribeOptions, Subscription } from '@commonplace/kit/events';
import { createWakeSignal } from '@commonplace/kit/events';
import { countFailure, retryDelay } from '../events/attempts.js';
import { observeRedelivery } from '../events/telemetry.js';
import { type IntakeOptions, openIntake } from './intake.js';
import type { Parking } from './parking.js';
import type { Item } from './queue.js';

/** Maximum backoff before an event is tried again, in milliseconds. */
const MAX_RETRY_MS = 60_000;
/** Milliseconds between two checks whether this instance may start. */
const SETTLE_INTERVAL_MS = 100;

interface SubscriptionOptions extends Omit<IntakeOptions, 'arrived'> {
  readonly parking: Parking;
  readonly handler: (events: readonly DomainEvent[]) => Promise<void>;
}

/** Runs a handler over the events of a consumer, one call at a time. */
export async function openSubscription(given: SubscriptionOptions): Promise<Subscription> {
  const { options, log } = given;
  const signal = createWakeSignal();
  const intake = openIntake({ ...given, arrived: signal.wake });
  const { queue } = intake;
  const { try: tryItems, giveBack } = createAttempts(given, queue);
  let closing = false;

  const alive = setInterval(() => {
    for (const { message } of queue.all()) message.working();
  }, given.silenceMs / 3);
  alive.unref();

  const step = async (): Promise<void> => {
    if (queue.size === 0) return signal.wait(Number.POSITIVE_INFINITY);
    if (!(await intake.settled())) return signal.sleep(SETTLE_INTERVAL_MS);
    const now = performance.now();
    const items = queue.next(options.batch ?? 1, now);
    if (items.length === 0) return signal.wait(queue.due(now) - now);
    return tryItems(items);
  };
  const running = (async (): Promise<void> => {
    while (!closing) {
      try {
        await step();
      } catch (error) {
        log.warn('events.interrupted', { consumer: options.consumer, error });
        await signal.sleep(1000);
      }
    }
  })();
  await intake.ready;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing = true;
    signal.close();
    await intake.stop();
    await running;
    clearInterval(alive);
    try {
      await intake.resign(await giveBack());
    } catch (error) {
      log.warn('events.interrupted', { consumer: options.consumer, error });
    }
  };
  return {
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** Creates the functions that try events, and acknowledge, retry or park them. */
function createAttempts(
  { options, parking, handler, log, connection }: SubscriptionOptions,
  queue: ReturnType<typeof openIntake>['queue'],
) {
  const { consumer, maxAttempts = 8, retryMs = 200 }: SubscribeOptions = options;
  const redelivered = observeRedelivery(consumer);
  /** Events whose attempts are recorded in the parking store. */
  const noted = new WeakSet<Item>();

  const done = async (items: readonly Item[]): Promise<void> => {
    for (const { message } of items) message.ack();
    queue.remove(items);
    for (const item of items) if (noted.has(item)) await parking.forget(consumer, item.event);
  };
  const park = async (item: Item, error: string): Promise<void> => {
    await parking.park(consumer, { event: item.event, attempts: item.attempts ?? 0, error });
    log.error('events.parked', { consumer, id: item.event.id, type: item.event.type, attempts: item.attempts, error });
    await done([item]);
  };
  const note = async (item: Item, attempts: number): Promise<void> => {
    noted.add(item);
    await parking.note(consumer, item.event, attempts);
  };
  /** Records each attempt at a redelivered event before it is made, because the process may not survive it. */
  const recall = async (item: Item): Promise<boolean> => {
    item.attempts ??= await parking.attempts(consumer, item.event);
    if (item.attempts >= maxAttempts) {
      await park(item, 'the process ended at each attempt, or was told to end');
      return false;
    }
    await note(item, item.attempts + 1);
    return true;
  };
  const failed = async (items: readonly Item[], error: unknown): Promise<void> => {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn('events.failed', { consumer, ids: items.map(({ event }) => event.id), error });
    for (const item of items) {
      const failures = { attempts: item.attempts ?? 0, waits: item.waits };
      countFailure(failures, error);
      Object.assign(item, failures);
      item.due = performance.now() + retryDelay(failures, retryMs, MAX_RETRY_MS);
      if (items.length > 1) item.alone = true;
      else if (failures.attempts >= maxAttempts) await park(item, reason);
    }
  };
  return {
    try: async (items: readonly Item[]): Promise<void> => {
      const [first] = items;
      const again = first !== undefined && first.message.info.deliveryCount > 1;
      if (again || (first?.attempts ?? 0) + (first?.waits ?? 0) > 0) redelivered(items.length);
      if (again && !(await recall(first))) return;
      try {
        await handler(items.map(({ event }) => event));
      } catch (error) {
        return failed(items, error);
      }
      return done(items);
    },
    /**
     * Returns the remaining events to the next instance, with their numbers of attempts. Resolves to the number of
     * events.
     */
    giveBack: async (): Promise<number> => {
      const left = queue.all();
      for (const item of left) if ((item.attempts ?? 0) > 0) await note(item, item.attempts ?? 0);
      for (const { message } of left) message.nak();
      queue.clear();
      const { nc } = await connection.link();
      await nc.flush();
      return left.length;
    },
  };
}
