import type { TenantGuard } from '@commonplace/kit/fetch';
import { type HeldJob, openQueue } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import { type Collection, findEach, LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { ATTEMPT_MS, attempt, type Target } from './attempt.js';
import { type OutcomeParts, recordOutcome } from './record-outcome.js';
import {
  type Delivery,
  type DisabledReason,
  deliveryId,
  deliveryQueue,
  targetStateCollection,
  targetStateId,
} from './records.js';

/** An event to deliver, in the form that receivers see. */
interface Message {
  readonly tenant: string;
  readonly ownerId: string;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
}

interface WebhookParts {
  /** Name of the service that sends. */
  readonly service: string;
  readonly store: Store;
  readonly log: Log;
  readonly guard: TenantGuard;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a number within [0, 1); Math.random when absent. */
  readonly random?: () => number;
  /** Returns a target; undefined if it no longer exists or its owner has disabled it. */
  target(ownerId: string, targetId: string): Promise<Target | undefined>;
  /** Is called when a target is disabled, in the same unit of work, to which it may add a notification of the owner. */
  disabled(work: UnitOfWork, delivery: Delivery, reason: DisabledReason): Promise<void>;
}

/** Delivers events to URLs of users, with retries, according to the Standard Webhooks specification. */
export interface Webhooks {
  /** Adds deliveries of an event to targets of its owner to the caller's unit of work. Repeating the call adds none. */
  send(work: UnitOfWork, message: Message, targetIds: readonly string[]): Promise<void>;
  /**
   * Restarts a completed delivery under its id, in the caller's unit of work. Returns false if the delivery is unknown
   * or pending.
   */
  resend(work: UnitOfWork, ownerId: string, id: string): Promise<boolean>;
  /** Enables a target again that was disabled. */
  enable(work: UnitOfWork, ownerId: string, targetId: string): Promise<void>;
  /** Returns the latest deliveries of an owner, newest first. */
  latest(ownerId: string, limit: number): Promise<Delivery[]>;
  /** Returns the reasons why targets of an owner are disabled, by target id. */
  disabledOf(ownerId: string): Promise<ReadonlyMap<string, DisabledReason>>;
  /**
   * Deletes stored data of an owner in the caller's unit of work, at most 500 deliveries. Returns whether none are left.
   * Those that are left are not attempted once the owner has no targets.
   */
  forget(work: UnitOfWork, ownerId: string): Promise<boolean>;
  /** Attempts all deliveries that are due, and resolves when that is done. */
  runDue(): Promise<void>;
  begin(): Promise<void>;
  close(): Promise<void>;
}

/** Converts epoch milliseconds to RFC 3339. */
const at = (ms: number) => new Date(ms).toISOString();

/** Number of deliveries that an owner can see. */
export const KEPT = 200;
/**
 * Maximum number of concurrent attempts in one process, and of those for one target, so that a slow one does not delay
 * the others.
 */
const CONCURRENCY = 32;
const CONCURRENCY_OF_TARGET = 4;
const LEASE_MS = 4 * ATTEMPT_MS;
const CHUNK = 100;
/** Maximum number of deliveries that one unit of work deletes. */
const MAX_FORGOTTEN = 500;

export async function openWebhooks(parts: WebhookParts): Promise<Webhooks> {
  const { service, store, log, guard, now, random = Math.random } = parts;
  const states = await store.collection(targetStateCollection);
  const outcomeParts: OutcomeParts = { states, now, random, disabled: parts.disabled };

  const send = async (target: Target, delivery: Delivery) =>
    attempt(await guard.of(delivery.tenant), target, delivery, now);

  async function deliver(job: HeldJob<Delivery>): Promise<void> {
    const { ownerId, targetId } = job.record;
    const state = await states.get(targetStateId(ownerId, targetId));
    const target = state?.disabled === undefined ? await parts.target(ownerId, targetId) : undefined;
    const outcome = target === undefined ? undefined : await send(target, job.record);
    await recordOutcome(outcomeParts, job, outcome);
    if (outcome?.succeeded !== false) await prune(queue.collection, store, ownerId);
  }

  const queue = await openQueue<Delivery>({
    ...{ store, log, now, random, spec: deliveryQueue(service) },
    concurrency: CONCURRENCY,
    group: { of: ({ ownerId, targetId }) => targetStateId(ownerId, targetId), concurrency: CONCURRENCY_OF_TARGET },
    leaseMs: LEASE_MS,
    run: deliver,
    onGivenUp: (job) => job.finish({ status: 'failed' }),
  });
  const deliveries = queue.collection;

  return {
    runDue: () => queue.runDue(),
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
      const where = { ownerId };
      // Attempts begin with the oldest, whose records change meanwhile.
      const some = await deliveries.find({ where, sort: ['-createdAt'], limit: MAX_FORGOTTEN });
      for (const one of some) work.remove(deliveries, one);
      for await (const one of findEach(states, { where }, CHUNK)) work.remove(states, one);
      return some.length < MAX_FORGOTTEN;
    },
    begin: () => queue.begin(),
    close: () => queue.close(),
  };
}

/** Deletes completed deliveries that are no longer shown. */
async function prune(deliveries: Collection<Delivery>, store: Store, ownerId: string): Promise<void> {
  const old = await deliveries.find({ where: { ownerId }, sort: ['-createdAt'], offset: KEPT, limit: CHUNK });
  const ended = old.filter(({ status }) => status !== 'pending');
  if (ended.length === 0) return;
  const work = store.begin();
  for (const one of ended) work.remove(deliveries, one);
  await work.commit().catch((error) => {
    // Another process was deleting them too.
    if (!(error instanceof LostRace)) throw error;
  });
}
