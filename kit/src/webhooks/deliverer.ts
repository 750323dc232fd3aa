import type { Guard } from '../fetch/index.js';
import type { Log } from '../log/index.js';
import { inWork } from '../store/in-work.js';
import { type Collection, LostRace, type Store, type UnitOfWork } from '../store/port.js';
import { continuing, traceparentNow } from '../telemetry/trace.js';
import { ATTEMPT_MS, attempt, type Target } from './attempt.js';
import {
  type Delivery,
  type DisabledReason,
  deliveryCollection,
  deliveryId,
  targetStateCollection,
  targetStateId,
} from './records.js';
import { type Settling, settle } from './settle.js';

/** What is to be delivered: an event as receivers see it. */
export interface Message {
  readonly tenant: string;
  readonly ownerId: string;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
}

export interface WebhookParts {
  readonly store: Store;
  readonly log: Log;
  readonly guard: Guard;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Within [0, 1); Math.random when absent. */
  readonly random?: () => number;
  /** Where a target is; undefined where it is gone, or its owner has switched it off. */
  target(ownerId: string, targetId: string): Promise<Target | undefined>;
  /** A target is switched off in this unit, which may tell its owner. */
  disabled(work: UnitOfWork, delivery: Delivery, reason: DisabledReason): Promise<void>;
}

/** Delivers events to URLs of users until they arrive, by the Standard Webhooks specification. */
export interface Webhooks {
  /** Puts an event on its way to targets of its owner, in a unit of the caller's. Once only, however often it is asked. */
  send(work: UnitOfWork, message: Message, targetIds: readonly string[]): Promise<void>;
  /** Begins an ended delivery anew under its id, in a unit of the caller's. False where it is unknown or on its way. */
  resend(work: UnitOfWork, ownerId: string, id: string): Promise<boolean>;
  /** Takes a target up again that was switched off. */
  enable(work: UnitOfWork, ownerId: string, targetId: string): Promise<void>;
  /** The latest deliveries of an owner, newest first. */
  latest(ownerId: string, limit: number): Promise<Delivery[]>;
  /** Why targets of an owner are switched off, by their ids. */
  disabledOf(ownerId: string): Promise<ReadonlyMap<string, DisabledReason>>;
  /** Drops what is kept of an owner, in a unit of the caller's. */
  forget(work: UnitOfWork, ownerId: string): Promise<void>;
  /** Attempts what is due, and waits for that. */
  look(): Promise<void>;
  begin(): void;
  close(): Promise<void>;
}

/** RFC 3339 of epoch milliseconds. */
const at = (ms: number) => new Date(ms).toISOString();

/** Deliveries that an owner is shown. */
export const KEPT = 200;
const LOOK_MS = 1000;
/** Attempts at the same time in one process, and those of one target, so that a slow one does not hold up all. */
const WIDTH = 32;
const WIDTH_OF_TARGET = 4;
const LEASE_MS = 4 * ATTEMPT_MS;
const CHUNK = 100;

export async function openWebhooks(parts: WebhookParts): Promise<Webhooks> {
  const { store, log, guard, now, random = Math.random } = parts;
  const deliveries = await store.collection(deliveryCollection);
  const states = await store.collection(targetStateCollection);
  const running = new Map<string, Promise<void>>();
  const runningOf = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const settling: Settling = { deliveries, states, now, random, disabled: parts.disabled };

  /** Takes a delivery for this process; undefined where another was faster. */
  async function lease(delivery: Delivery): Promise<Delivery | undefined> {
    const work = store.begin();
    const held = work.replace(deliveries, delivery, { ...delivery, dueAt: at(now() + LEASE_MS) });
    try {
      await work.commit();
      return held;
    } catch (error) {
      if (error instanceof LostRace) return undefined;
      throw error;
    }
  }

  async function deliver(found: Delivery): Promise<void> {
    const delivery = await lease(found);
    if (delivery === undefined) return;
    const { ownerId, targetId } = delivery;
    const state = await states.get(targetStateId(ownerId, targetId));
    const target = state?.disabled === undefined ? await parts.target(ownerId, targetId) : undefined;
    const outcome = target === undefined ? undefined : await attempt(guard, target, delivery, now);
    await inWork(store, (work) => settle(settling, work, delivery, outcome));
    if (outcome?.succeeded !== false) await prune(deliveries, store, ownerId);
  }

  function start(delivery: Delivery): void {
    const key = targetStateId(delivery.ownerId, delivery.targetId);
    const ofTarget = runningOf.get(key) ?? 0;
    if (closed || running.has(delivery.id) || running.size >= WIDTH || ofTarget >= WIDTH_OF_TARGET) return;
    runningOf.set(key, ofTarget + 1);
    const done = continuing(delivery.traceparent, 'deliver webhook', {}, () => deliver(delivery))
      .catch((error) => log.warn('webhook.failed', { delivery_id: delivery.id, error }))
      .finally(() => {
        running.delete(delivery.id);
        const left = (runningOf.get(key) ?? 1) - 1;
        if (left === 0) runningOf.delete(key);
        else runningOf.set(key, left);
      });
    running.set(delivery.id, done);
  }

  /** Begins what is due, as far as there is room. Behind those that wait for a slow target others may stand. */
  async function take(): Promise<void> {
    for (let after: readonly [string, string] | undefined; running.size < WIDTH && !closed; ) {
      const where = { dueAt: { lte: at(now()) } };
      const due = await deliveries.find({ where, sort: ['dueAt'], limit: CHUNK, ...(after && { after }) });
      for (const delivery of due) start(delivery);
      const last = due.at(-1);
      if (last?.dueAt === undefined || due.length < CHUNK) return;
      after = [last.dueAt, last.id];
    }
  }

  let taking: Promise<void> | undefined;
  const tick = () => {
    taking ??= take()
      .catch((error) => log.error('webhooks.look_failed', { error }))
      .finally(() => {
        taking = undefined;
      });
  };

  return {
    async look() {
      await take();
      await Promise.all(running.values());
    },
    async send(work, { tenant, ownerId, eventId, type, body }, targetIds) {
      const since = at(now());
      const traceparent = traceparentNow();
      for (const targetId of targetIds) {
        const id = deliveryId(eventId, targetId);
        if ((await work.get(deliveries, id)) !== undefined) continue;
        const about = { tenant, ownerId, targetId, eventId, type, body, createdAt: since, dueAt: since };
        work.insert(deliveries, { id, ...about, traceparent, status: 'pending', attempts: 0 });
      }
    },
    async resend(work, ownerId, id) {
      const delivery = await work.get(deliveries, id);
      if (delivery === undefined || delivery.ownerId !== ownerId || delivery.status === 'pending') return false;
      work.replace(deliveries, delivery, { ...delivery, status: 'pending', attempts: 0, dueAt: at(now()) });
      return true;
    },
    async enable(work, ownerId, targetId) {
      const state = await work.get(states, targetStateId(ownerId, targetId));
      if (state !== undefined) work.remove(states, state);
    },
    latest: (ownerId, limit) =>
      deliveries.find({ where: { ownerId }, sort: ['-createdAt'], limit: Math.min(limit, KEPT) }),
    async disabledOf(ownerId) {
      const found = await states.find({ where: { ownerId }, limit: CHUNK });
      return new Map(
        found.flatMap(({ id, disabled }) =>
          disabled === undefined ? [] : [[id.slice(ownerId.length + 1), disabled.reason] as const],
        ),
      );
    },
    async forget(work, ownerId) {
      for (const one of await deliveries.find({ where: { ownerId }, limit: 10 * KEPT })) work.remove(deliveries, one);
      for (const one of await states.find({ where: { ownerId }, limit: CHUNK })) work.remove(states, one);
    },
    begin() {
      timer = setInterval(tick, LOOK_MS);
      timer.unref();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await taking;
      await Promise.all(running.values());
    },
  };
}

/** Drops deliveries that have ended and are no longer shown. */
async function prune(deliveries: Collection<Delivery>, store: Store, ownerId: string): Promise<void> {
  const old = await deliveries.find({ where: { ownerId }, sort: ['-createdAt'], offset: KEPT, limit: CHUNK });
  const ended = old.filter(({ status }) => status !== 'pending');
  if (ended.length === 0) return;
  const work = store.begin();
  for (const one of ended) work.remove(deliveries, one);
  await work.commit().catch((error) => {
    // Another process was at it.
    if (!(error instanceof LostRace)) throw error;
  });
}
