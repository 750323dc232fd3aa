import type { Caller } from '@commonplace/kit/auth';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import type { SharingTerms, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Access } from '../domain/access.js';
import type { ActingAgent } from '../domain/agent-access.js';
import type { Grant } from '../domain/grant.js';
import type { Node, UntrustedWriter } from '../domain/node.js';

/** Grants by the id of the resource that they are on. */
export type GrantsByResource = ReadonlyMap<string, readonly Grant[]>;

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
   * Queries for grants of the person and of the agent by the ids of nodes that they cover, cached for this request,
   * because for example the path of a node reads the same grants again.
   */
  readonly held: Map<string, Promise<GrantsByResource>>;
  /** Valid grants of the person by workspace id, cached for this request likewise. */
  readonly heldIn: Map<string, Promise<Grant[]>>;
  /**
   * Reloads the memberships past the cache, at most once per request, so that a caller who has just joined is not
   * refused.
   */
  refresh(): Promise<void>;
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
