import {
  agentRoleIn,
  type Caller,
  credentialOutOfScope,
  reachesWorkspace,
  taintedWriterOf,
} from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast, type PersonMemberships, usableMemberships } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { WorkItemParts } from './parts.js';
import type { TextTaint, WorkItemRecord } from './records.js';

type AccessParts = Pick<WorkItemParts, 'items' | 'memberships'>;

type About = Pick<WorkItemRecord, 'workspaceId' | 'assignee' | 'creatorId' | 'createdBy'>;

/** Decides what a caller may do with work items, by role; the reach of the credential is checked elsewhere. */
export class ItemRights {
  constructor(
    private readonly caller: Caller,
    private readonly person: PersonMemberships,
  ) {}

  /** Returns whether the caller can read all work items of a workspace. */
  readsAll(workspaceId: string): boolean {
    return isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.VIEWER);
  }

  administers(workspaceId: string): boolean {
    return this.caller.agent === undefined && isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.ADMIN);
  }

  /**
   * Returns whether the caller can read a work item. An assigned person can, as long as they belong to the workspace.
   */
  canRead(item: About): boolean {
    return this.readsAll(item.workspaceId) || (this.belongsTo(item) && this.isAssigned(item));
  }

  /**
   * Returns whether the caller can change a work item. The person needs the role editor or the assignment; an agent
   * needs in addition its own role editor or the assignment to itself.
   */
  canChange(item: About): boolean {
    if (!this.canRead(item)) return false;
    if (!isWorkspaceRoleAtLeast(this.roleIn(item.workspaceId), WorkspaceRole.EDITOR) && !this.isAssigned(item))
      return false;
    const { agent } = this.caller;
    if (agent === undefined) return true;
    const isTheirs = item.assignee?.type === 'agent' && item.assignee.id === agent.id;
    return isTheirs || agentRoleIn(agent, item.workspaceId) === 'editor';
  }

  canDelete(item: About): boolean {
    if (!this.canRead(item)) return false;
    const { agent } = this.caller;
    if (agent !== undefined && !(item.createdBy.type === 'agent' && item.createdBy.id === agent.id)) return false;
    return this.isAlone(item.creatorId) || isWorkspaceRoleAtLeast(this.roleIn(item.workspaceId), WorkspaceRole.ADMIN);
  }

  isArchived({ workspaceId }: Pick<About, 'workspaceId'>): boolean {
    return this.person.workspaces.get(workspaceId)?.archived === true;
  }

  /** Returns the ids of the workspaces that the caller belongs to, even as a guest, and the credential reaches. */
  reached(): string[] {
    return [...this.person.workspaces.values()]
      .filter(({ workspaceId, orgId }) => reachesWorkspace(this.caller, workspaceId, orgId || null))
      .map(({ workspaceId }) => workspaceId);
  }

  /**
   * Returns the taint of what the caller writes, if agents must not trust it like a member's text; undefined otherwise.
   */
  taintOf({ workspaceId }: Pick<About, 'workspaceId'>): TextTaint | undefined {
    const { userId, userName } = this.caller;
    const writer = taintedWriterOf(this.caller);
    if (writer !== undefined) return { type: 'agent', id: writer.id, name: writer.name };
    if (isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.COMMENTER)) return undefined;
    return { type: 'guest', id: userId, name: userName };
  }

  private isAssigned({ assignee }: About): boolean {
    return assignee?.type === 'user' && this.isAlone(assignee.id);
  }

  /** Returns whether a person is the caller, and no author limits the call: what is one person's is not the other's. */
  private isAlone(userId: string): boolean {
    return userId === this.caller.userId && this.caller.authorId === undefined;
  }

  private belongsTo({ workspaceId }: About): boolean {
    return this.person.workspaces.has(workspaceId);
  }

  private roleIn(workspaceId: string): WorkspaceRole | undefined {
    return this.person.workspaces.get(workspaceId)?.role;
  }
}

type Asking = Pick<CallContext, 'caller' | 'onward'>;

/**
 * Returns what the caller may do. If cached memberships do not suffice, it reads them again before the caller is
 * refused.
 */
export async function rightsOf(
  { memberships }: Pick<AccessParts, 'memberships'>,
  { caller, onward }: Asking,
  suffices: (rights: ItemRights) => boolean = () => true,
): Promise<ItemRights> {
  const known = await itemRights(caller, (id) => memberships.of(id, onward));
  return suffices(known) ? known : itemRights(caller, (id) => memberships.fresh(id, onward));
}

/**
 * Returns the rights by the memberships of the person, and by those of the author whose rights limit the call. An
 * agent's role counts beside them, since a work item that is assigned to it is its own to change.
 */
async function itemRights(caller: Caller, read: (userId: string) => Promise<PersonMemberships>): Promise<ItemRights> {
  const { agent: _, ...people } = caller;
  return new ItemRights(caller, await usableMemberships(people, read));
}

export interface SeenItem {
  readonly item: WorkItemRecord;
  readonly rights: ItemRights;
}

/** Returns a work item that the caller can read, with their rights. Throws `NotFound` otherwise. */
export async function seeItem(
  parts: AccessParts,
  id: string,
  context: CallContext,
  suffices: (rights: ItemRights, item: WorkItemRecord) => boolean = (rights, item) => rights.canRead(item),
): Promise<SeenItem> {
  const { caller, work } = context;
  const item = await work.get(parts.items, id);
  // Looking up a missing item takes as long as one that the caller cannot see, so that timing reveals nothing.
  const rights = await rightsOf(parts, context, (known) => item !== undefined && suffices(known, item));
  if (item === undefined || !rights.canRead(item)) throw NotFound();
  const { workspaceId, orgId } = item;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw credentialOutOfScope(caller, orgId || null);
  return { item, rights };
}

/** Returns those of some work items that the caller can read and the credential reaches. */
export async function readableAmong(
  parts: Pick<AccessParts, 'memberships'>,
  items: readonly WorkItemRecord[],
  asking: Asking,
): Promise<WorkItemRecord[]> {
  const rights = await rightsOf(parts, asking);
  const reached = new Set(rights.reached());
  return items.filter((item) => reached.has(item.workspaceId) && rights.canRead(item));
}

/** Throws unless `may` is true and the work item's workspace is not archived. */
export function requireRight(may: boolean, { item, rights }: SeenItem): void {
  if (!may) throw InsufficientRole();
  if (rights.isArchived(item)) throw WorkspaceArchived();
}
