import { agentRoleIn, type Caller, type CallingAgent } from '@commonplace/kit/auth';
import { createSharedFetches } from '@commonplace/kit/cache';
import type { EventBus } from '@commonplace/kit/events';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type {
  DirectoryService,
  Memberships,
  WorkspaceMembership,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { agentRoleName, isOrgRoleAtLeast, lesserOrgRole, lesserWorkspaceRole } from './roles.js';

export { openWorkspace, WorkspaceRequired } from './default-workspace.js';
export { refusalOfWorkspace } from './refusal.js';
export { agentRoleName, agentRoleNamed, isOrgRoleAtLeast, isTrustedRole, isWorkspaceRoleAtLeast } from './roles.js';

/** A person's memberships, indexed for look-ups. */
export interface PersonMemberships {
  readonly userId: string;
  readonly orgs: ReadonlyMap<string, Memberships['orgs'][number]>;
  readonly workspaces: ReadonlyMap<string, WorkspaceMembership>;
  /** Ids of the groups that the person is in. */
  readonly groups: ReadonlySet<string>;
  /** Principals of grants that apply to the person: `user:<id>`, `org:<id>`, `workspace:<id>`, `group:<id>`. */
  readonly principals: readonly string[];
}

export interface MembershipCache {
  of(userId: string, options: CallOptions): Promise<PersonMemberships>;
  /** Returns the memberships without the cache, so that a recent one is known before access is refused. */
  fresh(userId: string, options: CallOptions): Promise<PersonMemberships>;
}

/** Maximum age of a cached membership in milliseconds, even if events are lost. */
const MAX_AGE_MS = 2000;

/** Caches memberships from the tenancy service until an event announces a change, for at most two seconds. */
export async function createMembershipCache(
  directory: Client<DirectoryService>,
  bus: EventBus,
): Promise<MembershipCache> {
  const cache = createSharedFetches({
    fetch: (userId, options: CallOptions) => directory.getMemberships({ userId }, options).then(index),
    maxCount: 10_000,
    maxAgeMs: MAX_AGE_MS,
  });
  await bus.watch(['commonplace.tenancy.>'], () => cache.clear());
  return cache;
}

function index({ userId, orgs, workspaces, groups }: Memberships): PersonMemberships {
  return {
    userId,
    orgs: new Map(orgs.map((org) => [org.orgId, org])),
    workspaces: new Map(workspaces.map((workspace) => [workspace.workspaceId, workspace])),
    groups: new Set(groups.map(({ groupId }) => groupId)),
    principals: [
      `user:${userId}`,
      ...orgs.map(({ orgId }) => `org:${orgId}`),
      ...workspaces.map(({ workspaceId }) => `workspace:${workspaceId}`),
      ...groups.map(({ groupId }) => `group:${groupId}`),
    ],
  };
}

/**
 * Returns the caller's own memberships. If the cached ones do not suffice, it reads them again before the caller is
 * refused.
 */
export async function callerMemberships(
  memberships: MembershipCache,
  { caller, onward }: Pick<CallContext, 'caller' | 'onward'>,
  suffices: (person: PersonMemberships) => boolean,
): Promise<PersonMemberships> {
  const known = await memberships.of(caller.userId, onward);
  return suffices(known) ? known : memberships.fresh(caller.userId, onward);
}

/**
 * Returns the part of a person's memberships that an agent can use on their behalf: the workspaces in which both have a
 * role, with the lesser of the two, and no administration of an Org. Returns all of them without an agent.
 */
export function sharedWith(person: PersonMemberships, agent: CallingAgent | undefined): PersonMemberships {
  if (agent === undefined) return person;
  const workspaces = new Map<string, WorkspaceMembership>();
  for (const [id, membership] of person.workspaces) {
    const role = agentRoleIn(agent, id);
    if (role !== undefined)
      workspaces.set(id, { ...membership, role: lesserWorkspaceRole(membership.role, agentRoleName(role)) });
  }
  const orgs = [...person.orgs].map(([id, org]) => {
    const role = isOrgRoleAtLeast(org.role, OrgRole.ADMIN) ? OrgRole.MEMBER : org.role;
    return [id, { ...org, role }] as const;
  });
  return { ...person, workspaces, orgs: new Map(orgs) };
}

/**
 * Returns the part of a person's memberships that another person has too, with the lesser of the two roles. Returns all
 * of them without another person.
 */
export function commonTo(person: PersonMemberships, other: PersonMemberships | undefined): PersonMemberships {
  if (other === undefined) return person;
  const workspaces = [...person.workspaces].flatMap(([id, membership]) => {
    const role = other.workspaces.get(id)?.role;
    return role === undefined
      ? []
      : [[id, { ...membership, role: lesserWorkspaceRole(membership.role, role) }] as const];
  });
  const orgs = [...person.orgs].flatMap(([id, org]) => {
    const role = other.orgs.get(id)?.role;
    return role === undefined ? [] : [[id, { ...org, role: lesserOrgRole(org.role, role) }] as const];
  });
  return { ...person, workspaces: new Map(workspaces), orgs: new Map(orgs) };
}

/**
 * Returns the memberships that a caller can use: the person's, as far as an agent that acts for them and the author of
 * an automation that acts with their rights have them too. `read` is `of` or `fresh` of the cache.
 */
export async function usableMemberships(
  { userId, authorId, agent }: Pick<Caller, 'userId' | 'authorId' | 'agent'>,
  read: (userId: string) => Promise<PersonMemberships>,
): Promise<PersonMemberships> {
  if (authorId === undefined) return sharedWith(await read(userId), agent);
  const [person, author] = await Promise.all([read(userId), read(authorId)]);
  return sharedWith(commonTo(person, author), agent);
}
