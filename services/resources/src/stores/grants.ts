import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Role } from '../domain/access.js';

/** A role that somebody was given on one node; it holds for all below, up to the next restriction. */
export interface Grant extends StoredRecord {
  /** By `grantId`: whoever grants the same principal at the same time meets here. */
  readonly id: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly resourceId: string;
  /**
   * `user:<id>`, `agent:<id>`, `org:<id>`, `workspace:<id>`, `link:<hash of the token>`, or `invitee:<place>`:
   * nobody as yet, and whoever takes up that invited place of the workspace later.
   */
  readonly principal: string;
  readonly role: Role;
  readonly grantedBy: Actor;
  readonly createdAt: string;
  /** It stops then by itself. */
  readonly expiresAt?: string | undefined;
  /** Of who was invited. */
  readonly email?: string | undefined;
  readonly link?: { readonly token: string; readonly audience: 'org' | 'anyone' } | undefined;
}

export const grantCollection: CollectionSpec<Grant> = {
  name: 'grants',
  indexes: [{ fields: ['resourceId', 'principal'] }, { fields: ['principal', 'workspaceId'] }],
};

/** The id of a principal's grant on a node. A node has one link at the most, whatever its token. */
export function grantId(resourceId: string, principal: string): string {
  return derivedId(`grant:${resourceId}:${principal.startsWith('link:') ? 'link' : principal}`);
}

/** Whether a grant is over at a time (RFC 3339). */
export function isExpired({ expiresAt }: Pick<Grant, 'expiresAt'>, now: string): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
