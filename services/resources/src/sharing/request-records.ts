import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Role } from '../domain/role.js';

/** A person's request for a role on a node. */
export interface AccessRequest extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly resourceId: string;
  readonly requesterId: string;
  readonly requesterName: string;
  readonly role: Role;
  readonly message?: string | undefined;
  /** Status as last written; a pending request expires at `expiresAt` without a write (see `statusAt`). */
  readonly status: 'pending' | 'approved' | 'denied' | 'canceled' | 'expired';
  /** `<resource>:<requester>` while the request is pending; unique, so that there is one at a time. */
  readonly openKey?: string | undefined;
  readonly decidedBy?: Actor | undefined;
  readonly decidedAt?: string | undefined;
  readonly grantedRole?: Role | undefined;
  readonly decisionMessage?: string | undefined;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export const accessRequestCollection: CollectionSpec<AccessRequest> = {
  name: 'access_requests',
  indexes: [
    { fields: ['resourceId', 'createdAt'] },
    { fields: ['requesterId', 'createdAt'] },
    { fields: ['openKey'], unique: true },
  ],
};

/** Returns the status of a request at a time (RFC 3339). */
export function statusAt({ status, expiresAt }: AccessRequest, now: string): AccessRequest['status'] {
  return status === 'pending' && expiresAt <= now ? 'expired' : status;
}
