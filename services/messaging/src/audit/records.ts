import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/**
 * The outcome of an action. `denied`: the caller is known but lacks permission; `failure`: the credential was refused.
 */
export type Outcome = 'success' | 'denied' | 'failure';

/** An entry of a tenant's audit log. */
export interface AuditRecord extends StoredRecord {
  /** The id of the Org, or of the Personal workspace. */
  readonly tenant: string;
  /** The time of the action; the latest one if `count` is above 1. */
  readonly at: string;
  /** The action as `<noun>.<verb>`. */
  readonly action: string;
  readonly outcome: Outcome;
  readonly actor: { readonly type: string; readonly id: string; readonly name: string };
  readonly actorId: string;
  readonly personId?: string;
  readonly credential?: { readonly type: string; readonly id: string };
  /** Absent for a Personal tenant. */
  readonly orgId?: string;
  readonly workspaceId?: string;
  readonly target?: { readonly type: string; readonly id: string };
  readonly targetId?: string;
  readonly network?: string;
  readonly requestId?: string;
  readonly reason?: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly expiresAt: string;
}

export const auditCollection: CollectionSpec<AuditRecord> = {
  name: 'audit_events',
  indexes: [
    { fields: ['tenant', 'at'] },
    { fields: ['tenant', 'action', 'at'] },
    { fields: ['tenant', 'actorId', 'at'] },
    { fields: ['tenant', 'personId', 'at'] },
    { fields: ['tenant', 'targetId', 'at'] },
    { fields: ['tenant', 'outcome', 'at'] },
    { fields: ['tenant', 'workspaceId', 'at'] },
    { fields: ['expiresAt'] },
  ],
  expires: 'expiresAt',
};
