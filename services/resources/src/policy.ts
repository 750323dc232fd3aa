import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { MembershipCache, PersonMemberships } from '@commonplace/kit/memberships';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { DirectoryService, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type Access, type Capability, effectiveAccess, LEAST_ROLE, may, reachOfGrants } from './domain/access.js';
import { ResourceInTrash, ResourceLocked, WorkspaceArchived } from './errors.js';
import type { Grant } from './stores/grants.js';
import type { Node } from './stores/nodes.js';
import type { Tree } from './stores/tree.js';

/** Who asks, and all that they belong to, at this moment. */
export interface Standing {
  readonly caller: Caller;
  readonly person: PersonMemberships;
  readonly now: string;
  /** Takes the memberships as they are now, once: nothing is refused for want of what was just joined. */
  refresh(): Promise<void>;
}

/** A node that the caller sees, with their rights on it. */
export interface Seen {
  readonly node: Node;
  readonly access: Access;
  readonly membership: WorkspaceMembership | undefined;
}

export type BlockedBy = 'archived' | 'locked' | 'trashed';

export interface Policy {
  standing(context: CallContext): Promise<Standing>;
  /** The caller's rights on a node as it is; undefined without any. */
  accessTo(node: Node, standing: Standing): Promise<Access | undefined>;
  /** The same for many nodes, at the cost of one query. */
  accessToAll(nodes: readonly Node[], standing: Standing): Promise<(Access | undefined)[]>;
  /**
   * A live node that the caller sees. What they can't see is not found, like what isn't there; what
   * they would see with another credential is behind the tenant's boundary.
   */
  see(id: string, standing: Standing): Promise<Seen>;
  /** The same, in the trash or not. */
  seeEvenTrashed(id: string, standing: Standing): Promise<Seen>;
  /** Those of some people who can read a node. */
  readersOf(node: Node, userIds: readonly string[], context: CallContext): Promise<string[]>;
  /** A workspace that the caller is in, by the same rules; an Org's administrator has to join it first. */
  enter(workspaceId: string, standing: Standing, context: CallContext): Promise<WorkspaceMembership>;
}

export interface PolicyParts {
  readonly tree: Tree;
  readonly grants: Collection<Grant>;
  readonly memberships: MembershipCache;
  readonly directory: Client<DirectoryService>;
}

export function createPolicy({ tree, grants, memberships, directory }: PolicyParts): Policy {
  /** Grants that hold for nodes; none are asked for where the workspace role gives all there is. */
  async function grantsFor(nodes: readonly Node[], standing: Standing): Promise<Grant[]> {
    const open = nodes.filter((node) => !ownsOutright(node, standing));
    if (open.length === 0) return [];
    const workspaces = [...new Set(open.map((node) => node.workspaceId))];
    const mine = await grants.find({
      where: { principal: { in: standing.person.principals }, workspaceId: { in: workspaces } },
      limit: GRANTS_PER_PERSON,
    });
    if (mine.length === 0) return mine;
    const reach = new Set(open.flatMap(reachOfGrants));
    return mine.filter((grant) => reach.has(grant.resourceId));
  }

  async function accessToAll(nodes: readonly Node[], standing: Standing): Promise<(Access | undefined)[]> {
    const mine = nodes.filter((node) => belongs(node, standing));
    const held = await grantsFor(mine, standing);
    return nodes.map((node) =>
      belongs(node, standing)
        ? effectiveAccess(node, standing.person.workspaces.get(node.workspaceId)?.role, held, standing.now)
        : undefined,
    );
  }

  async function accessTo(node: Node, standing: Standing): Promise<Access | undefined> {
    if (!belongs(node, standing)) return undefined;
    const held = ownsOutright(node, standing) ? [] : await grantsFor([node], standing);
    return effectiveAccess(node, standing.person.workspaces.get(node.workspaceId)?.role, held, standing.now);
  }

  async function seeEvenTrashed(id: string, standing: Standing): Promise<Seen> {
    const node = await tree.get(id);
    if (node === undefined) throw NotFound();
    let access = await accessTo(node, standing);
    if (access === undefined) {
      await standing.refresh();
      access = await accessTo(node, standing);
    }
    if (access === undefined) throw NotFound();
    if (!reachesWorkspace(standing.caller, node.workspaceId, node.orgId)) throw TenantBoundary();
    return { node, access, membership: standing.person.workspaces.get(node.workspaceId) };
  }

  /** Whose Org a workspace is, its administrators may know; what is in it, its members. */
  async function unjoined(workspaceId: string, standing: Standing, context: CallContext): Promise<Error> {
    const administered = [...standing.person.orgs.values()].filter(({ role }) => ADMIN_ROLES.has(role));
    if (administered.length === 0) return NotFound();
    const { orgId } = await directory.lookUpWorkspace({ workspaceId }, context.onward);
    if (!administered.some((org) => org.orgId === orgId)) return NotFound();
    return reachesWorkspace(standing.caller, workspaceId, orgId) ? InsufficientRole() : TenantBoundary();
  }

  return {
    async standing(context) {
      const { userId } = context.caller;
      const person = await memberships.of(userId, context.onward);
      const standing = {
        caller: context.caller,
        now: new Date().toISOString(),
        person,
        fresh: false,
        async refresh() {
          if (standing.fresh) return;
          standing.fresh = true;
          standing.person = await memberships.fresh(userId, context.onward);
        },
      };
      return standing;
    },
    accessTo,
    accessToAll,
    seeEvenTrashed,
    async see(id, standing) {
      const seen = await seeEvenTrashed(id, standing);
      if (seen.node.state === 'trashed') throw may(seen.access.role, 'write') ? ResourceInTrash() : NotFound();
      return seen;
    },
    async readersOf(node, userIds, { caller, onward }) {
      const now = new Date().toISOString();
      const reads = async (person: PersonMemberships) =>
        (await accessTo(node, { caller, person, now, refresh: async () => {} })) !== undefined;
      const readers = await Promise.all(
        userIds.map(
          async (id) => (await reads(await memberships.of(id, onward))) || reads(await memberships.fresh(id, onward)),
        ),
      );
      return userIds.filter((_, i) => readers[i]);
    },
    async enter(workspaceId, standing, context) {
      if (!standing.person.workspaces.has(workspaceId)) await standing.refresh();
      const membership = standing.person.workspaces.get(workspaceId);
      if (membership === undefined) throw await unjoined(workspaceId, standing, context);
      if (!reachesWorkspace(standing.caller, workspaceId, membership.orgId || null)) throw TenantBoundary();
      return membership;
    },
  };
}

const ADMIN_ROLES: ReadonlySet<OrgRole> = new Set([OrgRole.ADMIN, OrgRole.OWNER]);

/** Grants that one person's question looks at. */
const GRANTS_PER_PERSON = 10_000;

/** The tenant gate: a node of a tenant that the person does not belong to does not exist for them. */
function belongs(node: Node, { person }: Standing): boolean {
  return node.orgId === null ? person.workspaces.has(node.workspaceId) : person.orgs.has(node.orgId);
}

function ownsOutright(node: Node, { person }: Standing): boolean {
  return node.boundary === node.workspaceId && person.workspaces.get(node.workspaceId)?.role === WorkspaceRole.OWNER;
}

/** The role gate: refuses what the caller's role on a node does not allow. */
export function requireCapability(seen: Seen, capability: Capability): void {
  if (!may(seen.access.role, capability)) {
    throw InsufficientRole({ role: seen.access.role, needed: LEAST_ROLE[capability] });
  }
}

/** Whether a workspace role is `least` or above; nobody's is not. */
export function isWorkspaceRole(role: WorkspaceRole | undefined, least: WorkspaceRole): boolean {
  return role !== undefined && LADDER.indexOf(role) >= LADDER.indexOf(least);
}

/** Refuses a workspace role below `least`. */
export function requireWorkspaceRole(membership: WorkspaceMembership, least: WorkspaceRole): void {
  if (!isWorkspaceRole(membership.role, least)) {
    throw InsufficientRole({ role: shortName(membership.role), needed: shortName(least) });
  }
}

const LADDER = [
  WorkspaceRole.UNSPECIFIED,
  WorkspaceRole.GUEST,
  WorkspaceRole.VIEWER,
  WorkspaceRole.COMMENTER,
  WorkspaceRole.EDITOR,
  WorkspaceRole.ADMIN,
  WorkspaceRole.OWNER,
];

function shortName(role: WorkspaceRole): string {
  return role.replace('WORKSPACE_ROLE_', '').toLowerCase();
}

/** What keeps everybody from writing to a node, whatever their role. */
export function blockedBy(seen: Pick<Seen, 'node' | 'membership'>): BlockedBy | undefined {
  if (seen.node.state === 'trashed') return 'trashed';
  if (seen.membership?.archived) return 'archived';
  return seen.node.locked ? 'locked' : undefined;
}

/** The state gate for writes; `unlocks` lets the lock itself be taken off. */
export function requireWritable(seen: Seen, unlocks = false): void {
  const blocked = blockedBy(seen);
  if (blocked === 'archived') throw WorkspaceArchived();
  if (blocked === 'locked' && !unlocks) throw ResourceLocked();
}
