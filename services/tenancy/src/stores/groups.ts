import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { findAllWhere, findOne } from './all.js';
import { personKeyOf } from './org-members.js';

/** A group of people of an Org, with which resources can be shared. */
export interface Group extends StoredRecord {
  /** The id of the Org. */
  readonly tenant: string;
  readonly orgId: string;
  readonly name: string;
  /** Folded name, for search and order. */
  readonly nameFold: string;
  /** `<org>:<folded name>`. */
  readonly nameKey: string;
  readonly description?: string | undefined;
  readonly createdBy: Actor;
  /** The id of the person who created the group, or on whose behalf an API key did. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedBy: Actor;
  readonly updatedAt: string;
}

export const groupCollection: CollectionSpec<Group> = {
  name: 'groups',
  cachesQueries: true,
  indexes: [{ fields: ['nameKey'], unique: true }, { fields: ['orgId', 'nameFold'] }, { fields: ['orgId'] }],
};

/** A person's place in a group. It counts only as long as the membership of the Org that it names is active. */
export interface GroupMember extends StoredRecord {
  readonly tenant: string;
  readonly orgId: string;
  readonly groupId: string;
  readonly userId: string;
  /**
   * The id of the person's membership of the Org. A person who is removed and invited again gets a new one, so that a
   * group membership that was left behind grants nothing.
   */
  readonly orgMemberId: string;
  /** `<group>:<user>`. */
  readonly personKey: string;
  /** Folded name and address as those of the membership of the Org, for search. */
  readonly search: string;
  readonly addedBy: Actor;
  readonly addedAt: string;
}

export const groupMemberCollection: CollectionSpec<GroupMember> = {
  name: 'group_members',
  cachesQueries: true,
  indexes: [{ fields: ['personKey'], unique: true }, { fields: ['groupId'] }, { fields: ['userId', 'orgId'] }],
};

export function groupNameKey(orgId: string, name: string): string {
  return `${orgId}:${foldName(name)}`;
}

export interface Groups {
  readonly records: Collection<Group>;
  readonly members: Collection<GroupMember>;
  /** Returns the group of an Org that has a name, whatever its case. */
  named(orgId: string, name: string): Promise<Group | undefined>;
  /** Returns a person's place in a group. */
  place(groupId: string, userId: string): Promise<GroupMember | undefined>;
  /** Returns the places of a person in groups of all Orgs, including those that do not count at present. */
  placesOf(userId: string): Promise<GroupMember[]>;
  /** Returns the places of a person in an Org's groups. */
  placesIn(orgId: string, userId: string): Promise<GroupMember[]>;
  /** Returns the number of places of a person in an Org's groups; the key is `<org>:<user>`. */
  countPlaces(key: string): Promise<number>;
  /** Returns the number of members by group id. */
  countMembers(groupIds: readonly string[]): Promise<Map<string, number>>;
}

export function createGroups(records: Collection<Group>, members: Collection<GroupMember>): Groups {
  return {
    records,
    members,
    named: (orgId, name) => findOne(records, { nameKey: groupNameKey(orgId, name) }),
    place: (groupId, userId) => findOne(members, { personKey: personKeyOf(groupId, userId) }),
    placesOf: (userId) => findAllWhere(members, { userId }),
    placesIn: (orgId, userId) => findAllWhere(members, { userId, orgId }),
    countPlaces: (key) => {
      const [orgId = '', userId = ''] = key.split(':');
      return members.count({ userId, orgId });
    },
    countMembers: (groupIds) => members.countBy('groupId', { groupId: { in: groupIds } }),
  };
}
