import type { Caller } from '@commonplace/kit/auth';
import { NotFound, OlderPeer } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { pageInOrder } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { Implementation } from '@commonplace/platform/runtime';
import { fake, personCalled } from '@commonplace/platform/testing';
import { type OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  PrincipalType,
  type WorkspaceMember,
  WorkspaceMemberSource,
  WorkspaceMemberStatus,
} from '@commonplace/proto/tenancy/v1/workspace.js';

export const SCOPES = [
  'resource:read',
  'resource:write',
  'content:read',
  'content:write',
  'share:write',
  'trash:read',
  'trash:write',
  'access_request:read',
  'access_request:write',
  'search:read',
  'member:write',
];

export interface PlayedOrg {
  readonly id: string;
  readonly roles: Map<string, OrgRole>;
  allowExternalSharing: boolean;
  allowPublicPublishing?: boolean;
}

export interface PlayedWorkspace {
  readonly id: string;
  /** Empty for a Personal workspace. */
  readonly orgId: string;
  readonly roles: Map<string, WorkspaceRole>;
  archived: boolean;
  editorsCanShare: boolean;
  allowAccessRequests: boolean;
  allowExternalAccessRequests: boolean;
}

export interface PlayedGroup {
  readonly id: string;
  readonly orgId: string;
  readonly members: Set<string>;
}

/** Fakes of identity and tenancy: people and what they belong to. */
export interface PlayedTenancy {
  readonly implementations: readonly Implementation[];
  /** Invited addresses, by the place that accepts them. */
  readonly invited: Map<string, string>;
  person(name: string): Caller;
  org(): PlayedOrg;
  workspace(org?: PlayedOrg): PlayedWorkspace;
  /** Creates a group with these people. */
  group(org: PlayedOrg, ...people: readonly Caller[]): PlayedGroup;
  /** Whether tenancy has the version before, which knows no groups. */
  isOlder: boolean;
  /** Removes a group, as tenancy does before it publishes the event. */
  removeGroup(id: string): void;
  /** Ids of agents that nobody may use; there is an agent of every tenant with every other id. */
  readonly strangeAgents: Set<string>;
  /** Removes all people, Orgs and workspaces. */
  clear(): void;
}

function groupMessage({ id, orgId }: PlayedGroup) {
  return { groupId: id, orgId, name: 'Group' };
}

export function playTenancy(): PlayedTenancy {
  const people = new Map<string, Caller>();
  const orgs = new Map<string, PlayedOrg>();
  const workspaces = new Map<string, PlayedWorkspace>();
  const groups = new Map<string, PlayedGroup>();
  const invited = new Map<string, string>();
  const strangeAgents = new Set<string>();

  const named = (id: string): PlayedWorkspace => {
    const found = workspaces.get(id);
    if (found === undefined) throw NotFound();
    return found;
  };
  const listed = ({ id, roles }: PlayedWorkspace, wanted: WorkspaceRole): WorkspaceMember[] =>
    [...roles]
      .filter(([, role]) => role === wanted)
      .map(([userId, role]) => memberMessage(id, role, people.get(userId) as Caller));

  const directory = fake(contracts.directory, {
    async getMemberships({ userId }) {
      const mine = [...orgs.values()].filter(({ roles }) => roles.has(userId));
      const joined = [...workspaces.values()].filter(({ roles }) => roles.has(userId));
      return {
        userId,
        orgs: mine.map(({ id, roles, allowExternalSharing }) => ({
          orgId: id,
          name: 'Org',
          role: roles.get(userId) as OrgRole,
          maxKeyLifetimeDays: undefined,
          allowExternalSharing,
        })),
        groups: [...groups.values()]
          .filter(({ orgId, members }) => members.has(userId) && mine.some(({ id }) => id === orgId))
          .map(groupMessage),
        workspaces: joined.map(({ id, orgId, roles, archived, editorsCanShare }) => ({
          workspaceId: id,
          orgId,
          role: roles.get(userId) as WorkspaceRole,
          archived,
          editorsCanShare,
          trashRetentionDays: 30,
          name: 'Workspace',
        })),
      };
    },
    getUrlAllowlist: async () => ({ entries: [] }),
    async getSharingTerms({ workspaceId }) {
      const { roles: _, id: __, orgId, ...settings } = named(workspaceId);
      return {
        workspaceId,
        orgId,
        ...settings,
        workspaceName: 'Workspace',
        orgName: orgId === '' ? '' : 'Org',
        trashRetentionDays: 30,
        allowExternalSharing: orgs.get(orgId)?.allowExternalSharing ?? true,
        allowPublicPublishing: orgs.get(orgId)?.allowPublicPublishing ?? true,
        locale: 'en',
      };
    },
    lookUpGroups: async ({ orgId, groupIds }) => {
      if (played.isOlder) throw OlderPeer();
      const items = groupIds
        .flatMap((id) => groups.get(id) ?? [])
        .filter((group) => group.orgId === orgId)
        .map(groupMessage);
      return { items };
    },
    async listPeople({ workspaceId, role, page }) {
      const all = listed(named(workspaceId), role).map((member) => ({ member, id: member.principal?.id ?? '' }));
      const { items, page: shown } = pageInOrder(page, all);
      return { items: items.map(({ member }) => member), page: shown };
    },
    async lookUpWorkspace({ workspaceId }) {
      return { workspaceId, orgId: named(workspaceId).orgId, name: 'W', state: 1 as never, trashRetentionDays: 30 };
    },
  });
  const members = fake(contracts.workspaces, {
    listWorkspaceMembers: async () => ({ items: [], page: undefined }),
    async addWorkspaceMember({ workspaceId, email = '' }) {
      const place = newId();
      invited.set(place, email);
      const made = memberMessage(workspaceId, WorkspaceRole.GUEST, { ...personCalled('x'), userEmail: email });
      return { ...made, id: place, inviteUrl: `https://example.com/invite/${place}` };
    },
  });
  const auth = fake(contracts.auth, {
    async findUsers({ ids, emails }) {
      const found = [...people.values()].filter((one) => ids.includes(one.userId) || emails.includes(one.userEmail));
      const users = found.map(({ userId, userName, userEmail }) => ({
        id: userId,
        name: userName,
        email: userEmail,
        avatarUrl: undefined,
        locale: 'en',
        timezone: 'UTC',
      }));
      return { users };
    },
  });

  const agents = fake(contracts.agentDirectory, {
    async lookUpAgents({ agentIds }) {
      const known = agentIds.filter((id) => !strangeAgents.has(id));
      const orgIds = ['', ...orgs.keys()];
      const entry = (id: string) =>
        orgIds.map((orgId) => ({ id, name: 'Agent', orgId, ownerId: '', isActive: true, autoRun: false }));
      return { items: known.flatMap(entry) };
    },
  });

  const played: PlayedTenancy = {
    isOlder: false,
    implementations: [directory, members, auth, agents],
    strangeAgents,
    invited,
    clear() {
      for (const all of [people, orgs, workspaces, groups, invited]) all.clear();
    },
    person(name) {
      const made = personCalled(name, SCOPES);
      people.set(made.userId, made);
      return made;
    },
    org() {
      const made = { id: newId(), roles: new Map(), allowExternalSharing: true };
      orgs.set(made.id, made);
      return made;
    },
    workspace(org) {
      const made = {
        id: newId(),
        orgId: org?.id ?? '',
        roles: new Map(),
        archived: false,
        editorsCanShare: false,
        allowAccessRequests: true,
        allowExternalAccessRequests: false,
      };
      workspaces.set(made.id, made);
      return made;
    },
    group(org, ...members) {
      const made = { id: newId(), orgId: org.id, members: new Set(members.map(({ userId }) => userId)) };
      groups.set(made.id, made);
      return made;
    },
    removeGroup: (id) => void groups.delete(id),
  };
  return played;
}

function memberMessage(workspaceId: string, role: WorkspaceRole, person: Caller): WorkspaceMember {
  const { userId, userName, userEmail } = person;
  return {
    id: newId(),
    workspaceId,
    principal: { type: PrincipalType.USER, id: userId, name: userName, email: userEmail, avatarUrl: undefined },
    role,
    status: WorkspaceMemberStatus.ACTIVE,
    source: WorkspaceMemberSource.DIRECT,
    addedBy: undefined,
    addedAt: new Date().toISOString(),
    version: 1,
    inviteUrl: undefined,
  };
}
