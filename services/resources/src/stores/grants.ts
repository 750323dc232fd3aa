import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Role } from '../domain/access.js';

/** A role that somebody was given on one node; it holds for all below, up to the next restriction. */
export interface Grant extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly resourceId: string;
  /** `user:<id>`, `org:<id>` or `workspace:<id>`. */
  readonly principal: string;
  readonly role: Role;
  readonly grantedBy: string;
  readonly createdAt: string;
  /** It stops then by itself. */
  readonly expiresAt?: string;
}

export const grantCollection: CollectionSpec<Grant> = {
  name: 'grants',
  indexes: [{ fields: ['resourceId'] }, { fields: ['principal', 'workspaceId'] }],
};
