import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { WorkspaceRole } from '../domain/roles.js';
import { findAllWhere, findOne } from './all.js';
import { addressKeyOf, personKeyOf } from './org-members.js';

/** A person's own membership of a workspace, from the invitation on. `default_role` creates no such record. */
export interface WorkspaceMember extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** Absent in a Personal workspace. */
  readonly orgId?: string;
  /** Absent while an address is invited and no one has accepted. */
  readonly userId?: string;
  /** `<workspace>:<user>`. */
  readonly personKey?: string;
  /** `<workspace>:<address>` while the address is invited. */
  readonly addressKey?: string;
  readonly name: string;
  readonly email: string;
  /** Set if the person was added by id to a Personal workspace: their address is not shown. */
  readonly hidesEmail?: true;
  /** Folded name and address, for search. */
  readonly search: string;
  readonly role: WorkspaceRole;
  /** `suspended` while the Org suspends the person: the membership is kept but grants no access. */
  readonly status: 'active' | 'invited' | 'suspended';
  /** Whether the person is a guest of the Org. Guests get no default role. */
  readonly guest: boolean;
  /** The id of the person who added the member, or on whose behalf an API key did. */
  readonly addedBy: string;
  /** Who has added the member; absent in records of earlier versions. */
  readonly adder?: Actor;
  readonly addedAt: string;
  readonly updatedAt: string;
  /** Who made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor;
}

export const workspaceMemberCollection: CollectionSpec<WorkspaceMember> = {
  name: 'workspace_members',
  cachesQueries: true,
  indexes: [
    { fields: ['personKey'], unique: true },
    { fields: ['addressKey'], unique: true },
    { fields: ['workspaceId'] },
    { fields: ['workspaceId', 'status', 'role'] },
    { fields: ['workspaceId', 'status', 'guest'] },
    { fields: ['userId', 'status'] },
    { fields: ['userId', 'orgId'] },
  ],
};

export interface WorkspaceMembers {
  readonly records: Collection<WorkspaceMember>;
  ofPerson(workspaceId: string, userId: string): Promise<WorkspaceMember | undefined>;
  /** Returns the memberships of a person in the given workspaces. */
  ofPersonIn(workspaceIds: readonly string[], userId: string): Promise<WorkspaceMember[]>;
  /** Returns the memberships of the given people in one workspace. */
  ofPeople(workspaceId: string, userIds: readonly string[]): Promise<WorkspaceMember[]>;
  ofAddress(workspaceId: string, email: string): Promise<WorkspaceMember | undefined>;
  /** Returns the active memberships of a person in all workspaces. */
  activeOf(userId: string): Promise<WorkspaceMember[]>;
  /** Returns all memberships of a person in an Org's workspaces, including suspended ones. */
  inOrg(userId: string, orgId: string): Promise<WorkspaceMember[]>;
  /** Returns the active owners, oldest first. */
  owners(workspaceId: string): Promise<WorkspaceMember[]>;
  /** Returns the number of active members by workspace id. `guests` restricts it to those who get no default role. */
  countActive(workspaceIds: readonly string[], guests: boolean): Promise<Map<string, number>>;
}

export function createWorkspaceMembers(records: Collection<WorkspaceMember>): WorkspaceMembers {
  const keyed = async (keys: readonly string[]) =>
    keys.length === 0 ? [] : findAllWhere(records, { personKey: { in: keys } });
  return {
    records,
    ofPerson: (workspaceId, userId) => findOne(records, { personKey: personKeyOf(workspaceId, userId) }),
    ofPersonIn: (workspaceIds, userId) => keyed(workspaceIds.map((id) => personKeyOf(id, userId))),
    ofPeople: (workspaceId, userIds) => keyed(userIds.map((id) => personKeyOf(workspaceId, id))),
    ofAddress: (workspaceId, email) => findOne(records, { addressKey: addressKeyOf(workspaceId, email) }),
    activeOf: (userId) => findAllWhere(records, { userId, status: 'active' }),
    inOrg: (userId, orgId) => findAllWhere(records, { userId, orgId }),
    owners: (workspaceId) => findAllWhere(records, { workspaceId, status: 'active', role: 'owner' }),
    countActive: (workspaceIds, guests) => {
      const active = { workspaceId: { in: workspaceIds }, status: 'active' } as const;
      return records.countBy('workspaceId', guests ? { ...active, guest: true } : active);
    },
  };
}
