import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { MembershipCache, PersonMemberships } from '@commonplace/kit/memberships';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type {
  DirectoryService,
  SharingTerms,
  WorkspaceMembership,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type Access, type Capability, effectiveAccess, LEAST_ROLE, may, reachOfGrants } from './domain/access.js';
import { linkPrincipal } from './domain/principals.js';
import { ResourceInTrash, ResourceLocked, WorkspaceArchived } from './errors.js';
import { type Grant, isExpired } from './stores/grants.js';
import type { Node } from './stores/nodes.js';
import type { Tree } from './stores/tree.js';
import type { TermsCache } from './terms.js';

/** Who asks, and all that they belong to, at this moment. */
export interface Standing {
  readonly caller: Caller;
  readonly person: PersonMemberships;
  readonly now: string;
  /** The grant of the link that the request presents, where there is one and it holds. */
  readonly link: Grant | undefined;
  /** What grants may name to mean the caller: themselves, all that they belong to, the link they present. */
  readonly principals: readonly string[];
  /** The caller's grants by node, as far as this request has asked for them: a path asks for its node's again. */
  readonly held: Map<string, Grant[]>;
  /** Takes the memberships as they are now, once: nothing is refused for want of what was just joined. */
  refresh(): Promise<void>;
  /** What a workspace allows in sharing. */
  terms(workspaceId: string): Promise<SharingTerms>;
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
  /** Whether each of some nodes can be read by somebody who presents nothing: for work that goes on without them. */
  areReadableBy(nodes: readonly Node[], caller: Caller, onward: CallOptions): Promise<boolean[]>;
  /** A workspace that the caller is in, by the same rules; an Org's administrator has to join it first. */
  enter(workspaceId: string, standing: Standing, context: CallContext): Promise<WorkspaceMembership>;
  /** The same, and for whoever holds a grant in it as well. */
  visit(workspaceId: string, standing: Standing, context: CallContext): Promise<WorkspaceMembership>;
  /** The grants in a workspace that hold for the caller now. */
  grantsIn(workspaceId: string, standing: Standing): Promise<Grant[]>;
  /** The workspaces in which the caller holds a grant, by the id of their tenant. */
  grantedWorkspaces(standing: Standing): Promise<{ readonly workspaceId: string; readonly tenant: string }[]>;
}

export interface PolicyParts {
  readonly tree: Tree;
  readonly grants: Collection<Grant>;
  readonly memberships: MembershipCache;
  readonly directory: Client<DirectoryService>;
  readonly terms: TermsCache;
}

export function createPolicy({ tree, grants, memberships, directory, terms }: PolicyParts): Policy {
  /** Grants that hold for nodes; none are asked for where there can be none, or the workspace role gives all. */
  async function grantsFor(nodes: readonly Node[], standing: Standing): Promise<Grant[]> {
    const open = nodes.filter((node) => !ownsOutright(node, standing));
    const bare = new Set(open.filter((node) => node.principals.length === 0).map(({ id }) => id));
    const granted = new Set<string>();
    for (const node of open) for (const id of reachOfGrants(node)) if (!bare.has(id)) granted.add(id);
    if (granted.size === 0) return [];
    const { principals, held } = standing;
    const unknown = [...granted].filter((id) => !held.has(id));
    if (unknown.length > 0) {
      // A principal has one grant on a node at the most.
      const limit = unknown.length * principals.length;
      const where = { resourceId: { in: unknown }, principal: { in: principals } };
      for (const id of unknown) held.set(id, []);
      for (const grant of await grants.find({ where, limit })) held.get(grant.resourceId)?.push(grant);
    }
    return [...granted].flatMap((id) => held.get(id) ?? []);
  }

  /** Outside of their tenants, people have what a link for anybody gives. */
  function accessOf(node: Node, held: readonly Grant[], standing: Standing): Access | undefined {
    if (belongs(node.tenant, standing)) {
      return effectiveAccess(node, standing.person.workspaces.get(node.workspaceId)?.role, held, standing.now);
    }
    const link = publicLink(standing);
    return link === undefined ? undefined : effectiveAccess(node, undefined, [link], standing.now);
  }

  async function accessToAll(nodes: readonly Node[], standing: Standing): Promise<(Access | undefined)[]> {
    const held = await grantsFor(
      nodes.filter((node) => belongs(node.tenant, standing)),
      standing,
    );
    return nodes.map((node) => accessOf(node, held, standing));
  }

  async function accessTo(node: Node, standing: Standing): Promise<Access | undefined> {
    const asks = belongs(node.tenant, standing) && !ownsOutright(node, standing);
    return accessOf(node, asks ? await grantsFor([node], standing) : [], standing);
  }

  /** What holds of a workspace for whoever has no place in it. */
  async function visitor(workspaceId: string, standing: Standing): Promise<WorkspaceMembership> {
    const { orgId, archived, editorsCanShare, trashRetentionDays, workspaceName } = await standing.terms(workspaceId);
    const role = WorkspaceRole.UNSPECIFIED;
    return { workspaceId, orgId, role, archived, editorsCanShare, trashRetentionDays, name: workspaceName };
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
    const membership = (await memberOf(node.workspaceId, standing)) ?? (await visitor(node.workspaceId, standing));
    return { node, access, membership };
  }

  /** What is remembered of an archived workspace refuses nothing: it may be active again by now. */
  async function memberOf(workspaceId: string, standing: Standing): Promise<WorkspaceMembership | undefined> {
    if (standing.person.workspaces.get(workspaceId)?.archived) await standing.refresh();
    return standing.person.workspaces.get(workspaceId);
  }

  /** Whose Org a workspace is, its administrators may know; what is in it, its members. */
  async function unjoined(workspaceId: string, standing: Standing, context: CallContext): Promise<Error> {
    const administered = [...standing.person.orgs.values()].filter(({ role }) => ADMIN_ROLES.has(role));
    if (administered.length === 0) return NotFound();
    const { orgId } = await directory.lookUpWorkspace({ workspaceId }, context.onward);
    if (!administered.some((org) => org.orgId === orgId)) return NotFound();
    return reachesWorkspace(standing.caller, workspaceId, orgId) ? InsufficientRole() : TenantBoundary();
  }

  async function enter(
    workspaceId: string,
    standing: Standing,
    context: CallContext,
    byGrant: boolean,
  ): Promise<WorkspaceMembership> {
    if (!standing.person.workspaces.has(workspaceId)) await standing.refresh();
    let membership = await memberOf(workspaceId, standing);
    if (membership === undefined && byGrant && (await grantsIn(workspaceId, standing)).length > 0) {
      membership = await visitor(workspaceId, standing);
    }
    if (membership === undefined) throw await unjoined(workspaceId, standing, context);
    if (!reachesWorkspace(standing.caller, workspaceId, membership.orgId || null)) throw TenantBoundary();
    return membership;
  }

  /** Somebody else's standing: what they belong to, without what this request presents. */
  const otherStanding = (caller: Caller, person: PersonMemberships, now: string, onward: CallOptions): Standing => ({
    caller,
    person,
    now,
    link: undefined,
    principals: person.principals,
    held: new Map(),
    refresh: async () => {},
    terms: (workspaceId) => terms.of(workspaceId, onward),
  });

  async function grantsIn(workspaceId: string, standing: Standing): Promise<Grant[]> {
    const found = await grants.find({
      where: { principal: { in: standing.principals }, workspaceId },
      limit: GRANTS_PER_PERSON,
    });
    return found.filter((grant) => holds(grant, standing));
  }

  return {
    async standing(context) {
      const { userId } = context.caller;
      const now = new Date().toISOString();
      const { shareLink } = context.metadata;
      const person = await memberships.of(userId, context.onward);
      const link = shareLink === undefined ? undefined : await presentedLink(grants, terms, shareLink, context, now);
      const standing = {
        caller: context.caller,
        now,
        person,
        link,
        principals: principalsOf(person, link),
        held: new Map<string, Grant[]>(),
        fresh: false,
        async refresh() {
          if (standing.fresh) return;
          standing.fresh = true;
          standing.person = await memberships.fresh(userId, context.onward);
          standing.principals = principalsOf(standing.person, link);
          standing.held.clear();
        },
        terms: (workspaceId: string) => terms.of(workspaceId, context.onward),
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
        (await accessTo(node, otherStanding(caller, person, now, onward))) !== undefined;
      const readers = await Promise.all(
        userIds.map(
          async (id) => (await reads(await memberships.of(id, onward))) || reads(await memberships.fresh(id, onward)),
        ),
      );
      return userIds.filter((_, i) => readers[i]);
    },
    async areReadableBy(nodes, caller, onward) {
      const person = await memberships.of(caller.userId, onward);
      const standing = otherStanding(caller, person, new Date().toISOString(), onward);
      return (await accessToAll(nodes, standing)).map((access) => access !== undefined);
    },
    enter: (workspaceId, standing, context) => enter(workspaceId, standing, context, false),
    visit: (workspaceId, standing, context) => enter(workspaceId, standing, context, true),
    grantsIn,
    async grantedWorkspaces(standing) {
      const where = { principal: { in: standing.principals } };
      const found = await grants.find({ where, limit: GRANTS_PER_PERSON });
      const held = found.filter((grant) => holds(grant, standing));
      return [...new Map(held.map(({ workspaceId, tenant }) => [workspaceId, { workspaceId, tenant }])).values()];
    },
  };
}

const ADMIN_ROLES: ReadonlySet<OrgRole> = new Set([OrgRole.ADMIN, OrgRole.OWNER]);

/** Grants that one person's list looks at. */
const GRANTS_PER_PERSON = 10_000;

/** The grant of the link that a request presents; one for anybody holds while the Org lets outsiders in. */
async function presentedLink(
  grants: Collection<Grant>,
  terms: TermsCache,
  shareLink: string,
  context: CallContext,
  now: string,
): Promise<Grant | undefined> {
  const [grant] = await grants.find({ where: { principal: linkPrincipal(shareLink) }, limit: 1 });
  if (grant === undefined || isExpired(grant, now)) return undefined;
  if (grant.link?.audience !== 'anyone') return grant;
  const { allowExternalSharing } = await terms.of(grant.workspaceId, context.onward);
  return allowExternalSharing ? grant : { ...grant, link: { ...grant.link, audience: 'org' } };
}

function principalsOf(person: PersonMemberships, link: Grant | undefined): readonly string[] {
  return link === undefined ? person.principals : [...person.principals, link.principal];
}

/** The tenant gate: what is of a tenant that the person does not belong to does not exist for them. */
function belongs(tenant: string, { person }: Standing): boolean {
  return person.orgs.has(tenant) || person.workspaces.has(tenant);
}

/** The link that opens something to whoever is signed in. */
function publicLink({ link }: Standing): Grant | undefined {
  return link?.link?.audience === 'anyone' ? link : undefined;
}

/** Whether a grant to one of the caller's principals counts for them now. */
function holds(grant: Grant, standing: Standing): boolean {
  return !isExpired(grant, standing.now) && (belongs(grant.tenant, standing) || grant.id === publicLink(standing)?.id);
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
