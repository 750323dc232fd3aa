import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { WorkspaceRole } from '../domain/roles.js';
import { findAll, findOne } from './all.js';
import { addressKeyOf, personKeyOf } from './org-members.js';

/** A person's own place in a workspace, from the invitation on; `default_role` makes none. */
export interface WorkspaceMember extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** Absent in a Personal workspace. */
  readonly orgId?: string;
  /** Absent while an address is invited and nobody has come. */
  readonly userId?: string;
  /** `<workspace>:<user>`. */
  readonly personKey?: string;
  /** `<workspace>:<address>` while the address is invited. */
  readonly addressKey?: string;
  readonly name: string;
  readonly email: string;
  /** Name and address, folded. */
  readonly search: string;
  readonly role: WorkspaceRole;
  /** Suspended while the Org suspends the person: the place is kept and gives nothing. */
  readonly status: 'active' | 'invited' | 'suspended';
  /** A guest of the Org, who gets no default role. */
  readonly guest: boolean;
  readonly addedBy: string;
  readonly addedAt: string;
  readonly updatedAt: string;
}

export const workspaceMemberCollection: CollectionSpec<WorkspaceMember> = {
  name: 'workspace_members',
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
  /** The places of a person in some workspaces. */
  ofPersonIn(workspaceIds: readonly string[], userId: string): Promise<WorkspaceMember[]>;
  /** The places of some people in one workspace. */
  ofPeople(workspaceId: string, userIds: readonly string[]): Promise<WorkspaceMember[]>;
  ofAddress(workspaceId: string, email: string): Promise<WorkspaceMember | undefined>;
  /** The active places of a person, everywhere. */
  activeOf(userId: string): Promise<WorkspaceMember[]>;
  /** All places of a person in an Org's workspaces, suspended ones too. */
  inOrg(userId: string, orgId: string): Promise<WorkspaceMember[]>;
  /** Active owners, the oldest first. */
  owners(workspaceId: string): Promise<WorkspaceMember[]>;
  ofWorkspace(workspaceId: string): Promise<WorkspaceMember[]>;
  /** Active members, by workspace; `guests` counts those alone who get no default role. */
  countActive(workspaceIds: readonly string[], guests: boolean): Promise<Map<string, number>>;
}

export function createWorkspaceMembers(records: Collection<WorkspaceMember>): WorkspaceMembers {
  const keyed = async (keys: readonly string[]) =>
    keys.length === 0 ? [] : findAll(records, { personKey: { in: keys } });
  return {
    records,
    ofPerson: (workspaceId, userId) => findOne(records, { personKey: personKeyOf(workspaceId, userId) }),
    ofPersonIn: (workspaceIds, userId) => keyed(workspaceIds.map((id) => personKeyOf(id, userId))),
    ofPeople: (workspaceId, userIds) => keyed(userIds.map((id) => personKeyOf(workspaceId, id))),
    ofAddress: (workspaceId, email) => findOne(records, { addressKey: addressKeyOf(workspaceId, email) }),
    activeOf: (userId) => findAll(records, { userId, status: 'active' }),
    inOrg: (userId, orgId) => findAll(records, { userId, orgId }),
    owners: (workspaceId) => findAll(records, { workspaceId, status: 'active', role: 'owner' }),
    ofWorkspace: (workspaceId) => findAll(records, { workspaceId }),
    countActive: (workspaceIds, guests) => {
      const active = { workspaceId: { in: workspaceIds }, status: 'active' } as const;
      return records.countBy('workspaceId', guests ? { ...active, guest: true } : active);
    },
  };
}
