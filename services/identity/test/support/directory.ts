import { NotFound } from '@commonplace/kit/errors';
import { homeOf, newId } from '@commonplace/kit/id';
import type { Client } from '@commonplace/kit/rpc';
import type {
  DirectoryService,
  Invitation,
  OrgMembership,
  WorkspaceMembership,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';

/** A fake of tenancy's directory: it records calls and returns what a test sets. */
export interface FakeDirectory {
  readonly client: Client<DirectoryService>;
  /** While true, every call fails as if tenancy were down. */
  down: boolean;
  readonly homes: Set<string>;
  readonly accepted: { token: string; userId: string }[];
  readonly acceptedAddresses: { email: string; userId: string }[];
  addOrg(name: string): string;
  join(userId: string, orgId: string, role?: OrgRole, maxKeyLifetimeDays?: number): void;
  leave(userId: string, orgId: string): void;
  addWorkspace(orgId: string, ...members: string[]): string;
  invite(email: string, orgId?: string): string;
}

export function createFakeDirectory(unavailable: () => Error): FakeDirectory {
  const orgs = new Map<string, string>();
  const members = new Map<string, Map<string, OrgMembership>>();
  const workspaces = new Map<string, { orgId: string; members: Set<string> }>();
  const invitations = new Map<string, Invitation>();
  const ofPerson = (userId: string) => members.get(userId) ?? new Map<string, OrgMembership>();

  const fake: FakeDirectory = {
    down: false,
    homes: new Set(),
    accepted: [],
    acceptedAddresses: [],
    addOrg(name) {
      const id = newId();
      orgs.set(id, name);
      return id;
    },
    join(userId, orgId, role = OrgRole.MEMBER, maxKeyLifetimeDays) {
      const name = orgs.get(orgId) ?? '';
      const membership = { orgId, name, role, maxKeyLifetimeDays, allowExternalSharing: true };
      members.set(userId, new Map(ofPerson(userId)).set(orgId, membership));
    },
    leave(userId, orgId) {
      members.get(userId)?.delete(orgId);
    },
    addWorkspace(orgId, ...people) {
      const id = newId();
      workspaces.set(id, { orgId, members: new Set(people) });
      return id;
    },
    invite(email, orgId) {
      const token = `invitation-${newId()}`;
      invitations.set(token, {
        id: newId(),
        email,
        orgId,
        workspaceId: undefined,
        expiresAt: undefined,
        anyAccount: false,
      });
      return token;
    },
    client: {
      getMemberships: answering(async ({ userId }) => ({
        userId,
        orgs: [...ofPerson(userId).values()],
        groups: [],
        workspaces: [...workspaces].filter(([, one]) => one.members.has(userId)).map(membershipOf),
      })),
      lookUpWorkspace: answering(async ({ workspaceId }) => {
        const found = workspaces.get(workspaceId);
        if (found === undefined) throw NotFound();
        return { workspaceId, orgId: found.orgId, name: '', state: WorkspaceState.ACTIVE, trashRetentionDays: 30 };
      }),
      getSharingTerms: answering(async () => {
        throw NotFound();
      }),
      getUrlAllowlist: answering(async () => ({ entries: [] })),
      lookUpGroups: answering(async () => ({ items: [] })),
      listPeople: answering(async () => ({ items: [], page: undefined })),
      listOrgAdmins: answering(async ({ orgId }) => {
        const isAdmin = (role: OrgRole | undefined) => role === OrgRole.OWNER || role === OrgRole.ADMIN;
        return { userIds: [...members].flatMap(([id, orgs]) => (isAdmin(orgs.get(orgId)?.role) ? [id] : [])) };
      }),
      finishTemplate: answering(async () => ({ found: true })),
      ensurePersonalWorkspace: answering(async ({ userId }) => {
        const workspaceId = homeOf(userId);
        fake.homes.add(workspaceId);
        workspaces.set(workspaceId, { orgId: '', members: new Set([userId]) });
        return { workspaceId, orgId: '', name: 'Personal', state: WorkspaceState.ACTIVE, trashRetentionDays: 30 };
      }),
      getInvitation: answering(async ({ token }) => {
        const found = invitations.get(token);
        if (found === undefined) throw NotFound();
        return found;
      }),
      describeInvitation: answering(async () => {
        throw NotFound();
      }),
      acceptInvitation: answering(async ({ token, userId }) => {
        const found = invitations.get(token);
        if (found === undefined) throw NotFound();
        invitations.delete(token);
        fake.accepted.push({ token, userId });
        return { orgId: found.orgId, workspaceId: undefined };
      }),
      acceptVerifiedAddress: answering(async ({ email, userId }) => {
        fake.acceptedAddresses.push({ email, userId });
        return { accepted: 1 };
      }),
    },
  };
  return fake;

  function answering<Q, R>(answer: (request: Q) => Promise<R>): (request: Q) => Promise<R> {
    return async (request) => {
      if (fake.down) throw unavailable();
      return answer(request);
    };
  }
}

function membershipOf([workspaceId, { orgId }]: [string, { orgId: string }]): WorkspaceMembership {
  return {
    workspaceId,
    orgId,
    role: WorkspaceRole.EDITOR,
    archived: false,
    editorsCanShare: true,
    trashRetentionDays: 30,
    name: '',
  };
}
