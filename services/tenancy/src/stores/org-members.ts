import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import { FULL_ORG_ROLES, type OrgRole } from '../domain/roles.js';
import { findAllWhere, findOne } from './all.js';

type OrgMemberStatus = 'invited' | 'active' | 'suspended' | 'removed';

/** A person's membership of an Org, from the invitation on. */
export interface OrgMember extends StoredRecord {
  /** The id of the Org. */
  readonly tenant: string;
  readonly orgId: string;
  /** Absent while an address is invited and no one has accepted. */
  readonly userId?: string;
  /** `<org>:<user>` while the person is a member or is invited by id; absent after removal. */
  readonly personKey?: string;
  /** `<org>:<address>` while the address is invited. */
  readonly addressKey?: string;
  /** Name and address as they were when the person joined. */
  readonly name: string;
  readonly email: string;
  /** Folded name and address, for search. */
  readonly search: string;
  readonly role: OrgRole;
  readonly status: OrgMemberStatus;
  /** Set for a guest who was invited through a workspace: the membership is withdrawn with that invitation. */
  readonly viaWorkspace?: boolean;
  /** The id of the person who invited, or on whose behalf an API key did. */
  readonly invitedBy?: string;
  /** Who has invited; absent in records of earlier versions. */
  readonly inviter?: Actor;
  readonly invitedAt?: string;
  readonly inviteExpiresAt?: string;
  readonly joinedAt?: string;
  readonly updatedAt: string;
  /** Who made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor;
}

export const orgMemberCollection: CollectionSpec<OrgMember> = {
  name: 'org_members',
  cachesQueries: true,
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
  /** Returns a person's membership, or the invitation made to them by id. Never returns a removed membership. */
  ofPerson(orgId: string, userId: string): Promise<OrgMember | undefined>;
  /** Returns the membership that an address is invited to. */
  ofAddress(orgId: string, email: string): Promise<OrgMember | undefined>;
  /** Returns the active memberships of a person in all Orgs. */
  activeOf(userId: string): Promise<OrgMember[]>;
  /** Returns the active owners, oldest first. */
  owners(orgId: string): Promise<OrgMember[]>;
  /** Returns the active owners and administrators, oldest first. */
  admins(orgId: string): Promise<OrgMember[]>;
  /** Returns the number of active members by Org id. */
  countActive(orgIds: readonly string[]): Promise<Map<string, number>>;
  /** Returns the number of active members who get a workspace's default role. */
  countFull(orgId: string): Promise<number>;
  /** Returns the number of members, suspended members and open invitations. */
  countPlaces(orgId: string): Promise<number>;
}

export function createOrgMembers(records: Collection<OrgMember>): OrgMembers {
  return {
    records,
    ofPerson: (orgId, userId) => findOne(records, { personKey: personKeyOf(orgId, userId) }),
    ofAddress: (orgId, email) => findOne(records, { addressKey: addressKeyOf(orgId, email) }),
    activeOf: (userId) => findAllWhere(records, { userId, status: 'active' }),
    owners: (orgId) => findAllWhere(records, { orgId, status: 'active', role: 'owner' }),
    admins: (orgId) => findAllWhere(records, { orgId, status: 'active', role: { in: ['owner', 'admin'] } }),
    countActive: (orgIds) => records.countBy('orgId', { orgId: { in: orgIds }, status: 'active' }),
    countFull: (orgId) => records.count({ orgId, status: 'active', role: { in: FULL_ORG_ROLES } }),
    countPlaces: (orgId) => records.count({ orgId, status: { in: ['active', 'suspended', 'invited'] } }),
  };
}
