import type { CollectionSpec, StoredRecord } from '../store/port.js';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'canceled';

/** One event on its way to one target. */
export interface Delivery extends StoredRecord {
  readonly tenant: string;
  /** Whose target it is: the id of a form. */
  readonly ownerId: string;
  readonly targetId: string;
  /** `webhook-id`: the same at every attempt. */
  readonly eventId: string;
  readonly type: string;
  /** What is sent, byte for byte the same at every attempt. */
  readonly body: string;
  readonly status: DeliveryStatus;
  /** Attempts since it was begun, or since it was sent again. */
  readonly attempts: number;
  /** When it is attempted next, or found again if its worker is gone. Pending ones only. */
  readonly dueAt?: string;
  readonly last?: Attempt;
  /** The trace of what the event tells of. */
  readonly traceparent?: string | undefined;
  readonly createdAt: string;
}

/** What came of an attempt. */
export interface Attempt {
  readonly at: string;
  readonly durationMs: number;
  /** Of the answer; absent where none came. */
  readonly status?: number;
  /** Why there was none. */
  readonly error?: string;
  /** How the answer's body begins. */
  readonly head?: string;
}

/** How a target does. There is a record where its last attempt failed, or it is switched off. */
export interface TargetState extends StoredRecord {
  readonly tenant: string;
  readonly ownerId: string;
  /** The first failure since the last success. */
  readonly failingSince?: string;
  readonly disabled?: { readonly at: string; readonly reason: DisabledReason };
}

/** It answered 410, or did nothing but fail for five days. */
export type DisabledReason = 'gone' | 'failing';

export const deliveryCollection: CollectionSpec<Delivery> = {
  name: 'webhook_deliveries',
  indexes: [{ fields: ['dueAt'], sparse: true }, { fields: ['ownerId', 'createdAt'] }],
};

export const targetStateCollection: CollectionSpec<TargetState> = {
  name: 'webhook_targets',
  indexes: [{ fields: ['ownerId'] }],
};

/** An event goes to a target once, however often it is taken in. */
export function deliveryId(eventId: string, targetId: string): string {
  return `${eventId}.${targetId}`;
}

export function targetStateId(ownerId: string, targetId: string): string {
  return `${ownerId}.${targetId}`;
}
