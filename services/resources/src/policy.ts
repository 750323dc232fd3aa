import { authorOf, type Caller, credentialOutOfScope, reachesWorkspace, taintedWriterOf } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { enumName } from '@commonplace/platform/enums';
import {
  commonTo,
  isWorkspaceRoleAtLeast,
  type MembershipCache,
  type PersonMemberships,
  sharedWith,
} from '@commonplace/platform/memberships';
import type {
  DirectoryService,
  SharingTerms,
  WorkspaceMembership,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { BreakGlass } from './break-glass.js';
import { type Access, effectiveAccess, lesserAccess, reachOfGrants } from './domain/access.js';
import { type ActingAgent, actingAgent, agentAccess, agentNeedsNoGrant } from './domain/agent-access.js';
import { type Grant, isExpired } from './domain/grant.js';
import type { Node, UntrustedWriter } from './domain/node.js';
import { linkPrincipal } from './domain/principals.js';
import { type Capability, MIN_ROLE, may } from './domain/role.js';
import { ResourceInTrash, ResourceLocked, WorkspaceArchived } from './errors.js';
import type { Tree } from './nodes/tree.js';
import type { TermsCache } from './terms.js';

/** The caller of a request, with their memberships, agent and share link at the time of the request. */
export interface AccessSubject {
  readonly caller: Caller;
  /** The call that asks; undefined for a person who is not its caller, and for jobs. */
  readonly call: Pick<CallContext, 'event'> | undefined;
  /** Memberships of the caller; with an agent or an author, only those that these share with the person. */
  readonly person: PersonMemberships;
  /**
   * Memberships of the person without the agent. They determine the person's access to a node, which the agent's access
   * then limits.
   */
  readonly own: PersonMemberships;
  /** The agent that acts on the person's behalf. */
  readonly agent: ActingAgent | undefined;
  /** The author of the automation that acts with the person's rights. Their access limits the person's. */
  readonly author: AccessSubject | undefined;
  readonly now: string;
  /** The grant of the share link that the request presents; undefined unless there is one that is valid. */
  readonly link: Grant | undefined;
  /**
   * The principals by which a grant can name the person: the person, their Orgs and workspaces, and the presented share
   * link.
   */
  readonly principals: readonly string[];
  /**
   * Grants of the person and of the agent by node id, cached for this request, because for example the path of a node
   * reads the same grants again.
   */
  readonly held: Map<string, Promise<Grant[]>>;
  /** Valid grants of the person by workspace id, cached for this request likewise. */
  readonly heldIn: Map<string, Promise<Grant[]>>;
  /**
   * Reloads the memberships past the cache, at most once per request, so that a caller who has just joined is not
   * refused.
   */
  refresh(): Promise<void>;
  /** Returns the sharing terms of a workspace. */
  terms(workspaceId: string): Promise<SharingTerms>;
}

/** A node that the caller can see, with their access to it. */
export interface Seen {
  readonly node: Node;
  readonly access: Access;
  readonly membership: WorkspaceMembership | undefined;
}

export type BlockedBy = 'archived' | 'locked' | 'trashed';

export interface Policy {
  subject(context: CallContext): Promise<AccessSubject>;
  /** Returns the caller's access to a node, or undefined if they have none or their credential does not reach it. */
  accessTo(node: Node, subject: AccessSubject): Promise<Access | undefined>;
  /** Like `accessTo` for each of many nodes, with a single query. */
  accessToAll(nodes: readonly Node[], subject: AccessSubject): Promise<(Access | undefined)[]>;
  /**
   * Returns a live node that the caller can see. Throws NotFound both for a node that they cannot see and for one that
   * does not exist, and the tenant boundary error for a node that their credential does not reach. Throws
   * ResourceInTrash for a trashed node that they may write to, and NotFound for any other trashed node.
   */
  see(id: string, subject: AccessSubject): Promise<Seen>;
  /** Like `see`, but returns trashed nodes as well. */
  seeEvenTrashed(id: string, subject: AccessSubject): Promise<Seen>;
  /**
   * Notes for the audit log that the caller opens a node, if only their workspace role lets them. `see` and
   * `seeEvenTrashed` do so; a caller of `accessTo` who then shows or changes the node has to.
   */
  opens(seen: Pick<Seen, 'node' | 'access'>, subject: AccessSubject): void;
  /**
   * Like `opens` for many nodes that one request reads. Notes only the items that restrict them, so that the log does
   * not grow with the size of a subtree.
   */
  opensAll(seen: readonly Pick<Seen, 'node' | 'access'>[], subject: AccessSubject): void;
  /** Returns the ids of those given people who can read a node. */
  readersOf(node: Node, userIds: readonly string[], context: CallContext): Promise<string[]>;
  /** Returns whether a person may write to a node, whatever the credential of the call. */
  canWrite(node: Node, userId: string, context: CallContext): Promise<boolean>;
  /** Returns whether a workspace is archived. */
  isArchived(workspaceId: string, context: CallContext): Promise<boolean>;
  /**
   * Returns the kind of untrusted writer that a call's caller is in a workspace: a person below commenter, or an agent
   * that has read untrusted text. Returns undefined for all others, and for jobs.
   */
  untrustedWriter(workspaceId: string, context: CallContext): Promise<UntrustedWriter | undefined>;
  /** Returns whether a person belongs to a tenant now, in any role. */
  belongsTo(tenant: string, userId: string, context: CallContext): Promise<boolean>;
  /**
   * Returns for each node whether `caller` can read it without a share link. For jobs, which run after the request has
   * ended.
   */
  areReadableBy(nodes: readonly Node[], caller: Caller, onward: CallOptions): Promise<boolean[]>;
  /**
   * Returns the access subject of a person who is not the caller, without a share link and without the limits of a
   * credential. For requests of other services about people.
   */
  subjectFor(userId: string, context: CallContext): Promise<AccessSubject>;
  /**
   * Returns the caller's membership of a workspace. Throws NotFound to a person who is not a member (InsufficientRole
   * to an administrator of its Org, who has to join first), and the tenant boundary error if only their credential does
   * not reach it.
   */
  enter(workspaceId: string, subject: AccessSubject, context: CallContext): Promise<WorkspaceMembership>;
  /** Like `enter`, but also admits a caller who holds a valid grant in the workspace. */
  visit(workspaceId: string, subject: AccessSubject, context: CallContext): Promise<WorkspaceMembership>;
  /** Returns the person's grants in a workspace that are still valid. */
  grantsIn(workspaceId: string, subject: AccessSubject): Promise<Grant[]>;
  /** Returns the grants of the acting agent in a workspace that are still valid. */
  agentGrantsIn(workspaceId: string, subject: AccessSubject): Promise<Grant[]>;
  /** Returns the workspaces in which the caller holds a valid grant, each with its tenant. */
  grantedWorkspaces(subject: AccessSubject): Promise<{ readonly workspaceId: string; readonly tenant: string }[]>;
}

export interface PolicyParts {
  readonly tree: Tree;
  readonly grants: Collection<Grant>;
  readonly memberships: MembershipCache;
  readonly directory: Client<DirectoryService>;
  readonly terms: TermsCache;
  readonly breakGlass: Pick<BreakGlass, 'note'>;
}

export function createPolicy({ tree, grants, memberships, directory, terms, breakGlass }: PolicyParts): Policy {
  /**
   * Returns the grants of the person and the agent that can apply to the nodes. Skips the query for nodes to which no
   * grant can apply, and for nodes to which the workspace roles already give every right.
   */
  async function grantsFor(nodes: readonly Node[], subject: AccessSubject): Promise<Grant[]> {
    const open = nodes.filter((node) => !ownsOutright(node, subject));
    const bare = new Set(open.filter((node) => node.principals.length === 0).map(({ id }) => id));
    const granted = new Set<string>();
    for (const node of open) for (const id of reachOfGrants(node)) if (!bare.has(id)) granted.add(id);
    if (granted.size === 0) return [];
    const { held } = subject;
    const principals = subject.agent ? [...subject.principals, subject.agent.principal] : subject.principals;
    const unknown = [...granted].filter((id) => !held.has(id));
    if (unknown.length > 0) {
      // A principal has at most one grant on a node.
      const limit = unknown.length * principals.length;
      const where = { resourceId: { in: unknown }, principal: { in: principals } };
      const asked = grants.find({ where, limit }).then(byResource);
      // Concurrent callers await the same query: until it has answered, the absence of a grant is unknown.
      for (const id of unknown) {
        held.set(
          id,
          asked.then((found) => found.get(id) ?? []),
        );
      }
    }
    return (await Promise.all([...granted].map((id) => held.get(id) ?? []))).flat();
  }

  /**
   * Returns the access to a node: the lesser of the person's and the agent's if one acts on their behalf. Does not check
   * whether the credential reaches the node.
   */
  function accessOf(node: Node, held: readonly Grant[], subject: AccessSubject): Access | undefined {
    const { agent, now } = subject;
    if (agent === undefined) return accessOfPerson(node, held, subject);
    const persons = accessOfPerson(
      node,
      held.filter(({ principal }) => principal !== agent.principal),
      subject,
    );
    return persons && lesserAccess(persons, agentAccess(node, agent, held, now));
  }

  /**
   * Returns a person's access. Outside of their tenants, people have only the access that a share link for anyone gives
   * them.
   */
  function accessOfPerson(node: Node, held: readonly Grant[], subject: AccessSubject): Access | undefined {
    if (belongs(node.tenant, subject)) {
      return effectiveAccess(node, subject.own.workspaces.get(node.workspaceId)?.role, held, subject.now);
    }
    const link = publicLink(subject);
    return link === undefined ? undefined : effectiveAccess(node, undefined, [link], subject.now);
  }

  async function accessToAll(nodes: readonly Node[], subject: AccessSubject): Promise<(Access | undefined)[]> {
    const held = await grantsFor(
      nodes.filter((node) => belongs(node.tenant, subject)),
      subject,
    );
    const all = nodes.map((node) => (isReached(node, subject) ? accessOf(node, held, subject) : undefined));
    if (subject.author === undefined) return all;
    const authors = await accessToAll(nodes, subject.author);
    return all.map((access, at) => access && lesserAccess(access, authors[at]));
  }

  async function accessTo(node: Node, subject: AccessSubject): Promise<Access | undefined> {
    return isReached(node, subject) ? accessBeyondReach(node, subject) : undefined;
  }

  /** Returns the access that the caller would have with a credential that reaches every node. */
  async function accessBeyondReach(node: Node, subject: AccessSubject): Promise<Access | undefined> {
    const needsGrants = belongs(node.tenant, subject) && !ownsOutright(node, subject);
    const access = accessOf(node, needsGrants ? await grantsFor([node], subject) : [], subject);
    return access && subject.author ? lesserAccess(access, await accessTo(node, subject.author)) : access;
  }

  /** Returns a membership without a role, for a caller who sees a node of a workspace that they are not a member of. */
  async function visitor(workspaceId: string, subject: AccessSubject): Promise<WorkspaceMembership> {
    const { orgId, archived, editorsCanShare, trashRetentionDays, workspaceName } = await subject.terms(workspaceId);
    const role = WorkspaceRole.UNSPECIFIED;
    return { workspaceId, orgId, role, archived, editorsCanShare, trashRetentionDays, name: workspaceName };
  }

  async function seeEvenTrashed(id: string, subject: AccessSubject): Promise<Seen> {
    const node = await tree.get(id);
    if (node === undefined) throw await notFound(subject);
    let access = await accessBeyondReach(node, subject);
    if (access === undefined) {
      await subject.refresh();
      access = await accessBeyondReach(node, subject);
    }
    if (access === undefined) throw NotFound();
    requireReach(subject.caller, node);
    opens({ node, access }, subject);
    const membership = (await memberOf(node.workspaceId, subject)) ?? (await visitor(node.workspaceId, subject));
    return { node, access, membership };
  }

  function opens({ node, access }: Pick<Seen, 'node' | 'access'>, subject: AccessSubject): void {
    if (access.breakGlass) breakGlass.note([node], subject);
  }

  /**
   * Returns the caller's membership of a workspace. Refreshes a cached one that says archived, because the workspace
   * may be active again by now.
   */
  async function memberOf(workspaceId: string, subject: AccessSubject): Promise<WorkspaceMembership | undefined> {
    if (subject.person.workspaces.get(workspaceId)?.archived) await subject.refresh();
    return subject.person.workspaces.get(workspaceId);
  }

  /**
   * Returns the error for a caller who is not a member of a workspace. Administrators of its Org may learn that it
   * exists; all others get NotFound.
   */
  async function unjoined(workspaceId: string, subject: AccessSubject, context: CallContext): Promise<Error> {
    const administered = [...subject.person.orgs.values()].filter(({ role }) => ADMIN_ROLES.has(role));
    if (administered.length === 0) return NotFound();
    const { orgId } = await directory.lookUpWorkspace({ workspaceId }, context.onward);
    if (!administered.some((org) => org.orgId === orgId)) return NotFound();
    return reachesWorkspace(subject.caller, workspaceId, orgId)
      ? InsufficientRole()
      : credentialOutOfScope(subject.caller, orgId);
  }

  /**
   * Returns whether grants let a caller who is not a member see something in a workspace. With an author, each of the two
   * has to be a member or to hold a grant.
   */
  async function seesByGrants(workspaceId: string, subject: AccessSubject): Promise<boolean> {
    const holdsGrant = async (one: AccessSubject) => (await grantsIn(workspaceId, one)).length > 0;
    const { author } = subject;
    if (author === undefined) return holdsGrant(subject);
    const each = [subject, author].map((one) => one.own.workspaces.has(workspaceId) || holdsGrant(one));
    return (await Promise.all(each)).every(Boolean);
  }

  /** Returns the membership by which the known memberships, and grants if these count, let a caller in. */
  async function admit(
    workspaceId: string,
    subject: AccessSubject,
    byGrant: boolean,
  ): Promise<WorkspaceMembership | undefined> {
    const membership = await memberOf(workspaceId, subject);
    if (membership !== undefined || !byGrant || !(await seesByGrants(workspaceId, subject))) return membership;
    return visitor(workspaceId, subject);
  }

  async function enter(
    workspaceId: string,
    subject: AccessSubject,
    context: CallContext,
    byGrant: boolean,
  ): Promise<WorkspaceMembership> {
    let membership = await admit(workspaceId, subject, byGrant);
    if (membership === undefined) {
      await subject.refresh();
      membership = await admit(workspaceId, subject, byGrant);
    }
    if (membership === undefined) throw await unjoined(workspaceId, subject, context);
    requireReach(subject.caller, { workspaceId, orgId: membership.orgId || null });
    return membership;
  }

  /** Returns the `AccessSubject` of a caller with their memberships, which it reloads when it is refreshed. */
  function freshSubject(
    caller: Caller,
    known: PersonMemberships,
    now: string,
    onward: CallOptions,
    link: Grant | undefined,
    author: AccessSubject | undefined,
    call?: AccessSubject['call'],
  ): AccessSubject {
    const of = (own: PersonMemberships) => ({
      own,
      person: sharedWith(commonTo(own, author?.own), caller.agent),
      principals: principalsOf(own, link),
    });
    const subject = {
      ...{ caller, call, now, link, author, agent: actingAgent(caller.agent), ...of(known) },
      held: new Map<string, Promise<Grant[]>>(),
      heldIn: new Map<string, Promise<Grant[]>>(),
      fresh: false,
      async refresh() {
        if (subject.fresh) return;
        subject.fresh = true;
        const [own] = await Promise.all([memberships.fresh(caller.userId, onward), author?.refresh()]);
        Object.assign(subject, of(own));
        subject.held.clear();
        subject.heldIn.clear();
      },
      terms: (workspaceId: string) => terms.of(workspaceId, onward),
    };
    return subject;
  }

  /** Returns the `AccessSubject` of the author whose rights limit a call; undefined without one. */
  async function authorSubject(caller: Caller, now: string, onward: CallOptions): Promise<AccessSubject | undefined> {
    const author = authorOf(caller);
    if (author === undefined) return undefined;
    const { agent: _, ...alone } = author;
    return freshSubject(alone, await memberships.of(alone.userId, onward), now, onward, undefined, undefined);
  }

  /** Returns the `AccessSubject` of a person without the share link that this request presents. */
  const otherSubject = (
    caller: Caller,
    own: PersonMemberships,
    now: string,
    onward: CallOptions,
    { agent, author }: { readonly agent?: Caller['agent']; readonly author?: AccessSubject | undefined } = {},
  ): AccessSubject => ({
    caller,
    call: undefined,
    person: sharedWith(commonTo(own, author?.own), agent),
    own,
    agent: actingAgent(agent),
    author,
    now,
    link: undefined,
    principals: own.principals,
    held: new Map(),
    heldIn: new Map(),
    refresh: async () => {},
    terms: (workspaceId) => terms.of(workspaceId, onward),
  });

  function grantsIn(workspaceId: string, subject: AccessSubject): Promise<Grant[]> {
    const known = subject.heldIn.get(workspaceId);
    if (known !== undefined) return known;
    const where = { principal: { in: subject.principals }, workspaceId };
    const asked = grants
      .find({ where, limit: MAX_GRANTS_PER_PERSON })
      .then((found) => found.filter((grant) => holds(grant, subject)));
    subject.heldIn.set(workspaceId, asked);
    return asked;
  }

  async function agentGrantsIn(workspaceId: string, { agent, now }: AccessSubject): Promise<Grant[]> {
    if (agent === undefined) return [];
    const found = await grants.find({
      where: { principal: agent.principal, workspaceId },
      limit: MAX_GRANTS_PER_PERSON,
    });
    return found.filter((grant) => !isExpired(grant, now));
  }

  return {
    async subject(context) {
      const { caller, metadata, onward } = context;
      const now = new Date().toISOString();
      const { shareLink } = metadata;
      const own = memberships.of(caller.userId, onward);
      const author = authorSubject(caller, now, onward);
      const link = shareLink === undefined ? undefined : await presentedLink(grants, terms, shareLink, context, now);
      return freshSubject(caller, await own, now, onward, link, await author, context);
    },
    accessTo,
    accessToAll,
    seeEvenTrashed,
    opens,
    opensAll(seen, subject) {
      const opened = seen.filter(({ access }) => access.breakGlass);
      if (opened.length === 0) return;
      breakGlass.note(
        opened.map(({ node: { boundary, workspaceId, tenant } }) => ({ id: boundary, workspaceId, tenant, boundary })),
        subject,
      );
    },
    async see(id, subject) {
      const seen = await seeEvenTrashed(id, subject);
      if (seen.node.state === 'trashed') throw may(seen.access.role, 'write') ? ResourceInTrash() : NotFound();
      return seen;
    },
    async readersOf(node, userIds, { onward }) {
      const now = new Date().toISOString();
      const reads = async (person: PersonMemberships) =>
        (await accessTo(node, otherSubject(unlimited(person), person, now, onward))) !== undefined;
      const readers = await Promise.all(
        userIds.map(
          async (id) => (await reads(await memberships.of(id, onward))) || reads(await memberships.fresh(id, onward)),
        ),
      );
      return userIds.filter((_, i) => readers[i]);
    },
    async canWrite(node, userId, { onward }) {
      const now = new Date().toISOString();
      const writes = async (person: PersonMemberships) => {
        const access = await accessTo(node, otherSubject(unlimited(person), person, now, onward));
        return access !== undefined && may(access.role, 'write');
      };
      return (await writes(await memberships.of(userId, onward))) || writes(await memberships.fresh(userId, onward));
    },
    isArchived: async (workspaceId, { onward }) => (await terms.of(workspaceId, onward)).archived,
    async untrustedWriter(workspaceId, context) {
      const { type } = context.actor;
      if (type === 'system' || type === 'import') return undefined;
      const { userId } = context.caller;
      if (taintedWriterOf(context.caller) !== undefined) return 'agent';
      const isKnown = ({ workspaces }: PersonMemberships) =>
        isWorkspaceRoleAtLeast(workspaces.get(workspaceId)?.role, WorkspaceRole.COMMENTER);
      if (isKnown(await memberships.of(userId, context.onward))) return undefined;
      return isKnown(await memberships.fresh(userId, context.onward)) ? undefined : 'guest';
    },
    async belongsTo(tenant, userId, { onward }) {
      if (belongs(tenant, { own: await memberships.of(userId, onward) })) return true;
      return belongs(tenant, { own: await memberships.fresh(userId, onward) });
    },
    async areReadableBy(nodes, caller, onward) {
      const now = new Date().toISOString();
      const [person, author] = await Promise.all([
        memberships.of(caller.userId, onward),
        authorSubject(caller, now, onward),
      ]);
      const subject = otherSubject(caller, person, now, onward, { agent: caller.agent, author });
      return (await accessToAll(nodes, subject)).map((access) => access !== undefined);
    },
    async subjectFor(userId, { onward }) {
      const person = await memberships.of(userId, onward);
      return otherSubject(unlimited(person), person, new Date().toISOString(), onward);
    },
    enter: (workspaceId, subject, context) => enter(workspaceId, subject, context, false),
    visit: (workspaceId, subject, context) => enter(workspaceId, subject, context, true),
    grantsIn,
    agentGrantsIn,
    async grantedWorkspaces(subject) {
      const where = { principal: { in: subject.principals } };
      const found = await grants.find({ where, limit: MAX_GRANTS_PER_PERSON });
      const held = found.filter((grant) => holds(grant, subject));
      return [...new Map(held.map(({ workspaceId, tenant }) => [workspaceId, { workspaceId, tenant }])).values()];
    },
  };
}

const ADMIN_ROLES: ReadonlySet<OrgRole> = new Set([OrgRole.ADMIN, OrgRole.OWNER]);

/** Maximum number of a person's grants that one query reads. */
const MAX_GRANTS_PER_PERSON = 10_000;

/**
 * Returns the grant of the share link that a request presents. If the Org does not allow external sharing, a link for
 * anyone counts as a link for the Org.
 */
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

/**
 * Returns whether a person belongs to a tenant. This is the tenant gate: other tenants' data does not exist for them.
 */
function belongs(tenant: string, { own }: Pick<AccessSubject, 'own'>): boolean {
  return own.orgs.has(tenant) || own.workspaces.has(tenant);
}

/** Returns whether the credential of the call reaches the workspace of a node. */
function isReached({ workspaceId, orgId }: Pick<Node, 'workspaceId' | 'orgId'>, { caller }: AccessSubject): boolean {
  return reachesWorkspace(caller, workspaceId, orgId);
}

/** Returns a caller who stands for a person without the limits of a credential. */
function unlimited({ userId }: PersonMemberships): Caller {
  const credential = { type: 'internal', id: `person_${userId}`, scopes: [] } as const;
  return { userId, userName: '', userEmail: '', credential };
}

/** Returns the grant of a presented link that is open to anyone who is signed in. */
function publicLink({ link }: AccessSubject): Grant | undefined {
  return link?.link?.audience === 'anyone' ? link : undefined;
}

/** Returns whether a grant to one of the caller's principals is valid for them now. */
function holds(grant: Grant, subject: AccessSubject): boolean {
  return !isExpired(grant, subject.now) && (belongs(grant.tenant, subject) || grant.id === publicLink(subject)?.id);
}

/** Returns whether no grant can add to the access to a node. */
function ownsOutright(node: Node, { own, agent }: AccessSubject): boolean {
  if (agent !== undefined && !agentNeedsNoGrant(node, agent)) return false;
  return node.boundary === node.workspaceId && own.workspaces.get(node.workspaceId)?.role === WorkspaceRole.OWNER;
}

/**
 * Returns the error for an id that does not exist, after the same work as for a node that the caller cannot see, so
 * that the response time does not reveal whether the node exists.
 */
export async function notFound(subject: AccessSubject): Promise<Error> {
  await subject.refresh();
  return NotFound();
}

/**
 * Throws the tenant boundary error if the caller's credential does not reach the workspace of a node that they can see.
 */
export function requireReach(caller: Caller, { workspaceId, orgId }: Pick<Node, 'workspaceId' | 'orgId'>): void {
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
}

function byResource(grants: readonly Grant[]): ReadonlyMap<string, Grant[]> {
  const found = new Map<string, Grant[]>();
  for (const grant of grants) {
    const same = found.get(grant.resourceId);
    if (same === undefined) found.set(grant.resourceId, [grant]);
    else same.push(grant);
  }
  return found;
}

/** Throws InsufficientRole if the caller's role on a node does not include a capability. */
export function requireCapability(seen: Seen, capability: Capability): void {
  if (!may(seen.access.role, capability)) {
    throw InsufficientRole({ role: seen.access.role, needed: MIN_ROLE[capability] });
  }
}

/** Throws InsufficientRole if a workspace role is below `minRole`. */
export function requireWorkspaceRole(membership: WorkspaceMembership, minRole: WorkspaceRole): void {
  if (!isWorkspaceRoleAtLeast(membership.role, minRole)) {
    throw InsufficientRole({
      role: enumName(membership.role, 'WORKSPACE_ROLE'),
      needed: enumName(minRole, 'WORKSPACE_ROLE'),
    });
  }
}

/** Returns the state that prevents all writes to a node, whatever their role; undefined without one. */
export function blockedBy(seen: Pick<Seen, 'node' | 'membership'>): BlockedBy | undefined {
  if (seen.node.state === 'trashed') return 'trashed';
  if (seen.membership?.archived) return 'archived';
  return seen.node.locked ? 'locked' : undefined;
}

/** Throws if the workspace is archived or the node is locked; `unlocks` permits the write that removes the lock. */
export function requireWritable(seen: Seen, unlocks = false): void {
  const blocked = blockedBy(seen);
  if (blocked === 'archived') throw WorkspaceArchived();
  if (blocked === 'locked' && !unlocks) throw ResourceLocked();
}
