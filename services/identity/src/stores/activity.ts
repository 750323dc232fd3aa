import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/**
 * When a person last sent a request: one record for the requests in each Org, whose id is `userId:orgId`, and one for those
 * that select no tenant, whose id is the person's.
 */
export interface ActivityRecord extends StoredRecord {
  readonly lastActiveAt: string;
  readonly expiresAt: string;
}

export const activityCollection: CollectionSpec<ActivityRecord> = {
  name: 'activity',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** Returns the id of a person's record for an Org; for no tenant when `orgId` is absent. */
export const activityIdOf = (userId: string, orgId?: string): string =>
  orgId === undefined ? userId : `${userId}:${orgId}`;
