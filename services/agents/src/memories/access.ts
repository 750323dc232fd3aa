import { type Caller, credentialOutOfScope, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { isOrgRoleAtLeast, isWorkspaceRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Parts } from '../parts.js';
import { holderOfAgent, holderOfOrg, holderOfUser, holderOfWorkspace, type MemoryRecord } from '../stores/memories.js';

type AccessParts = Pick<Parts, 'memberships' | 'memories' | 'agents'>;

type About = Pick<MemoryRecord, 'scope' | 'tenant' | 'orgId' | 'workspaceId' | 'userId' | 'agentId' | 'subjectId'>;

/** Decides what a person may do with memories, by role; the reach of the credential is checked elsewhere. */
export class MemoryRights {
  constructor(
    private readonly userId: string,
    private readonly person: PersonMemberships,
    /** The ids of the agents that the person owns. */
    readonly agentIds: ReadonlySet<string>,
  ) {}

  canRead(memory: About): boolean {
    if (memory.scope === 'workspace') return isWorkspaceRoleAtLeast(this.workspaceRole(memory), WorkspaceRole.VIEWER);
    if (memory.scope === 'org') return isOrgRoleAtLeast(this.orgRole(memory), OrgRole.MEMBER);
    if (!this.belongsTo(memory)) return false;
    if (memory.scope === 'user') return memory.userId === this.userId;
    return this.owns(memory) || memory.subjectId === this.userId;
  }

  /** Returns whether the person may add memories to the place of a memory. */
  canWrite(memory: About): boolean {
    if (memory.scope === 'workspace') return isWorkspaceRoleAtLeast(this.workspaceRole(memory), WorkspaceRole.EDITOR);
    return this.administers(memory);
  }

  /**
   * Returns whether the person may change a memory. Creators may as long as they may write to its place, and the
   * subject of a memory may if an agent wrote it.
   */
  canChange(memory: About & Pick<MemoryRecord, 'creatorId' | 'source'>): boolean {
    if (!this.canRead(memory)) return false;
    const isOfAgent = memory.scope === 'agent' && memory.source.type === 'agent_run';
    if (isOfAgent && memory.subjectId === this.userId) return true;
    return this.administers(memory) || (memory.creatorId === this.userId && this.canWrite(memory));
  }

  canDelete(memory: About & Pick<MemoryRecord, 'creatorId'>): boolean {
    if (!this.canRead(memory)) return false;
    const { userId } = this;
    return this.administers(memory) || memory.creatorId === userId || memory.subjectId === userId;
  }

  administers(memory: About): boolean {
    if (memory.scope === 'workspace') return isWorkspaceRoleAtLeast(this.workspaceRole(memory), WorkspaceRole.ADMIN);
    if (memory.scope === 'org') return isOrgRoleAtLeast(this.orgRole(memory), OrgRole.ADMIN);
    if (!this.belongsTo(memory)) return false;
    return memory.scope === 'user' ? memory.userId === this.userId : this.owns(memory);
  }

  isArchived({ workspaceId = '' }: About): boolean {
    return this.person.workspaces.get(workspaceId)?.archived === true;
  }

  /** The ids of the Orgs that the person belongs to. */
  get orgIds(): readonly string[] {
    return [...this.person.orgs.keys()];
  }

  /** Returns the places whose memories the person may read because of their roles. */
  holders(): readonly About[] {
    const { userId, person } = this;
    const [user, org, workspace] = ['user', 'org', 'workspace'] as const;
    const inOrgs = this.orgIds.flatMap((orgId): About[] => [
      { scope: user, tenant: orgId, orgId, userId },
      { scope: org, tenant: orgId, orgId },
    ]);
    const inWorkspaces = [...person.workspaces.values()].map(({ workspaceId, orgId }): About => {
      return { scope: workspace, tenant: orgId || workspaceId, orgId, workspaceId };
    });
    const all = [{ scope: user, tenant: homeOf(userId), orgId: '', userId }, ...inOrgs, ...inWorkspaces];
    return all.filter((about) => this.canRead(about));
  }

  private owns({ agentId = '' }: About): boolean {
    return this.agentIds.has(agentId);
  }

  private belongsTo({ orgId }: About): boolean {
    return orgId === '' || this.person.orgs.has(orgId);
  }

  private workspaceRole({ workspaceId = '' }: About): WorkspaceRole | undefined {
    return this.person.workspaces.get(workspaceId)?.role;
  }

  private orgRole({ orgId }: About): OrgRole | undefined {
    return this.person.orgs.get(orgId)?.role;
  }
}

export function holderOf({ scope, tenant, orgId, workspaceId = '', agentId = '', userId = '' }: About): string {
  if (scope === 'user') return holderOfUser(userId, tenant);
  if (scope === 'workspace') return holderOfWorkspace(workspaceId);
  return scope === 'org' ? holderOfOrg(orgId) : holderOfAgent(agentId);
}

/**
 * Returns what the caller may do. If cached memberships do not suffice, it reads them again before the caller is
 * refused.
 */
export async function rightsOf(
  { memberships, agents }: AccessParts,
  { caller: { userId }, onward }: { readonly caller: Pick<Caller, 'userId'>; readonly onward: CallOptions },
  suffices: (rights: MemoryRights) => boolean = () => false,
): Promise<MemoryRights> {
  const ids = new Set((await agents.countBy('id', { ownerId: userId })).keys());
  const known = new MemoryRights(userId, await memberships.of(userId, onward), ids);
  if (suffices(known)) return known;
  return new MemoryRights(userId, await memberships.fresh(userId, onward), ids);
}

/**
 * Returns whether a credential reaches the place of a memory. A limited credential reaches only memories of its
 * workspaces.
 */
export function reaches(caller: Caller, { scope, orgId, workspaceId }: About): boolean {
  if (scope === 'workspace') return reachesWorkspace(caller, workspaceId ?? '', orgId || null);
  const isLimited = caller.credential.workspaceIds !== undefined || caller.workspaceId !== undefined;
  return !isLimited && reachesTenant(caller, orgId || null);
}

export function requireReach(caller: Caller, about: About): void {
  if (!reaches(caller, about)) throw credentialOutOfScope(caller, about.orgId || null);
}

/** Returns a memory that the caller can read, with their rights. Throws `NotFound` otherwise. */
export async function seeMemory(
  parts: AccessParts,
  id: string,
  context: CallContext,
  suffices: (rights: MemoryRights, memory: MemoryRecord) => boolean = (rights, memory) => rights.canRead(memory),
): Promise<{ readonly memory: MemoryRecord; readonly rights: MemoryRights }> {
  const memory = await context.work.get(parts.memories, id);
  // Looking up a missing memory takes as long as one that the caller cannot see, so that timing reveals nothing.
  const rights = await rightsOf(parts, context, (known) => memory !== undefined && suffices(known, memory));
  if (memory === undefined || isExpired(memory) || !rights.canRead(memory)) throw NotFound();
  requireReach(context.caller, memory);
  return { memory, rights };
}

export function isExpired({ expiresAt }: Pick<MemoryRecord, 'expiresAt'>): boolean {
  return expiresAt !== undefined && expiresAt <= new Date().toISOString();
}
