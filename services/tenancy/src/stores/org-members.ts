import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { FULL_ORG_ROLES, type OrgRole } from '../domain/roles.js';
import { foldEmail } from '../domain/text.js';
import { findAll, findOne } from './all.js';

export type OrgMemberStatus = 'invited' | 'active' | 'suspended' | 'removed';

/** A person's place in an Org, from the invitation on. */
export interface OrgMember extends StoredRecord {
  /** The Org. */
  readonly tenant: string;
  readonly orgId: string;
  /** Absent while an address is invited and nobody has come. */
  readonly userId?: string;
  /** `<org>:<user>` while the person has, or is offered, this place. */
  readonly personKey?: string;
  /** `<org>:<address>` while the address is invited. */
  readonly addressKey?: string;
  /** As they were when the person joined. */
  readonly name: string;
  readonly email: string;
  /** Name and address, folded. */
  readonly search: string;
  readonly role: OrgRole;
  readonly status: OrgMemberStatus;
  /** Invited as a guest, through a workspace: the place goes when that invitation does. */
  readonly viaWorkspace?: boolean;
  readonly invitedBy?: string;
  readonly invitedAt?: string;
  readonly inviteExpiresAt?: string;
  readonly joinedAt?: string;
  readonly updatedAt: string;
}

export const orgMemberCollection: CollectionSpec<OrgMember> = {
  name: 'org_members',
  indexes: [
    { fields: ['personKey'], unique: true },
    { fields: ['addressKey'], unique: true },
    { fields: ['orgId'] },
    { fields: ['orgId', 'status', 'role'] },
    { fields: ['userId', 'status'] },
  ],
};

export function personKeyOf(placeId: string, userId: string): string {
  return `${placeId}:${userId}`;
}

export function addressKeyOf(placeId: string, email: string): string {
  return `${placeId}:${foldEmail(email)}`;
}

export interface OrgMembers {
  readonly records: Collection<OrgMember>;
  /** A person's place, or the one offered to them by name; never a removed one. */
  ofPerson(orgId: string, userId: string): Promise<OrgMember | undefined>;
  /** The place that is offered to an address. */
  ofAddress(orgId: string, email: string): Promise<OrgMember | undefined>;
  /** The active places of a person, in all Orgs. */
  activeOf(userId: string): Promise<OrgMember[]>;
  /** Active owners, the oldest first. */
  owners(orgId: string): Promise<OrgMember[]>;
  /** Active members, by Org. */
  countActive(orgIds: readonly string[]): Promise<Map<string, number>>;
  /** Active members who get a workspace's default role. */
  countFull(orgId: string): Promise<number>;
  /** All who have a place or are offered one, counted up to `limit`. */
  countPlaces(orgId: string, limit: number): Promise<number>;
}

export function createOrgMembers(records: Collection<OrgMember>): OrgMembers {
  return {
    records,
    ofPerson: (orgId, userId) => findOne(records, { personKey: personKeyOf(orgId, userId) }),
    ofAddress: (orgId, email) => findOne(records, { addressKey: addressKeyOf(orgId, email) }),
    activeOf: (userId) => findAll(records, { userId, status: 'active' }),
    owners: (orgId) => findAll(records, { orgId, status: 'active', role: 'owner' }),
    countActive: (orgIds) => records.countBy('orgId', { orgId: { in: orgIds }, status: 'active' }),
    countFull: (orgId) => records.count({ orgId, status: 'active', role: { in: FULL_ORG_ROLES } }),
    countPlaces: (orgId, limit) => records.count({ orgId, status: { in: ['active', 'suspended', 'invited'] } }, limit),
  };
}
