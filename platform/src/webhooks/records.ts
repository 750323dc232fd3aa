import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'canceled';

/** The delivery of one event to one target. */
export interface Delivery extends JobRecord {
  readonly tenant: string;
  /** Id of the form that owns the target. */
  readonly ownerId: string;
  readonly targetId: string;
  /** Value of `webhook-id`, the same at every attempt. */
  readonly eventId: string;
  readonly type: string;
  /** Body of the request, identical at every attempt. */
  readonly body: string;
  readonly status: DeliveryStatus;
  /** Number of attempts since it was created or sent again. */
  readonly attempts: number;
  /** Time of the next attempt, or at which the lease of a lost worker ends. Only for pending deliveries. */
  readonly dueAt?: string;
  readonly last?: Attempt;
  readonly createdAt: string;
}

/** The result of an attempt. */
export interface Attempt {
  readonly at: string;
  readonly durationMs: number;
  /** Status of the response; absent if there was none. */
  readonly status?: number;
  /** Why there was no response. */
  readonly error?: string;
  /** Beginning of the response's body. */
  readonly head?: string;
}

/** State of a target. It is stored only if the last attempt has failed or the target is disabled. */
export interface TargetState extends StoredRecord {
  readonly tenant: string;
  readonly ownerId: string;
  /** Time of the first failure since the last success. */
  readonly failingSince?: string;
  readonly disabled?: { readonly at: string; readonly reason: DisabledReason };
}

/** `gone`: it responded with 410; `failing`: all attempts have failed for five days. */
export type DisabledReason = 'gone' | 'failing';

const deliveryCollection: CollectionSpec<Delivery> = {
  name: 'webhook_deliveries',
  indexes: [{ fields: ['dueAt'], sparse: true }, { fields: ['ownerId', 'createdAt'] }, DEAD_INDEX],
};

export function deliveryQueue(service: string): QueueSpec<Delivery> {
  return {
    name: `${service}.webhooks`,
    collection: deliveryCollection,
    due: 'dueAt',
    describe: ({ type, eventId, ownerId, targetId }) => `${type} ${eventId} of ${ownerId} to ${targetId}`,
  };
}

export const targetStateCollection: CollectionSpec<TargetState> = {
  name: 'webhook_targets',
  indexes: [{ fields: ['ownerId'] }],
};

/** Returns an id by which an event is delivered to a target once, even if it is received several times. */
export function deliveryId(eventId: string, targetId: string): string {
  return `${eventId}.${targetId}`;
}

export function targetStateId(ownerId: string, targetId: string): string {
  return `${ownerId}.${targetId}`;
}
