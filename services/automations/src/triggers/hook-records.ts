import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A delivery to an automation's webhook, stored so that a repeated delivery starts no second run. */
export interface HookDeliveryRecord extends StoredRecord {
  readonly tenant: string;
  readonly automationId: string;
  readonly runId: string;
  readonly deleteAt: string;
}

export const hookDeliveryCollection: CollectionSpec<HookDeliveryRecord> = {
  name: 'automation_deliveries',
  indexes: [{ fields: ['automationId'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};

/** Milliseconds that a delivery is remembered: 24 hours. */
export const DELIVERY_KEPT_MS = 86_400_000;
