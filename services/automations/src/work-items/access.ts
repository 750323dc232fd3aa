import { agentRoleIn, beyondReach, type Caller, reachesWorkspace, taintedWriterOf } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceArchived } from '../errors.js';
import type { WorkItemParts } from './parts.js';
import type { TextTaint, WorkItemRecord } from './records.js';

type AccessParts = Pick<WorkItemParts, 'items' | 'memberships'>;

type About = Pick<WorkItemRecord, 'workspaceId' | 'assignee' | 'creatorId' | 'createdBy'>;

/** What a caller may do with work items by their roles, whatever credential they come with. */
export class ItemRights {
  constructor(
    private readonly caller: Caller,
    private readonly person: PersonMemberships,
  ) {}

  /** Whether the caller reads all work items of a workspace. */
  readsAll(workspaceId: string): boolean {
    return isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.VIEWER);
  }

  administers(workspaceId: string): boolean {
    return this.caller.agent === undefined && isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.ADMIN);
  }

  /** Whoever it is assigned to reads it as well, as long as they belong to the workspace. */
  canRead(item: About): boolean {
    return this.readsAll(item.workspaceId) || (this.belongsTo(item) && this.isAssigned(item));
  }

  /** An agent needs what its person needs: the role, or that it is assigned to it. */
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
    const { agent, userId } = this.caller;
    if (agent !== undefined && !(item.createdBy.type === 'agent' && item.createdBy.id === agent.id)) return false;
    return item.creatorId === userId || isWorkspaceRoleAtLeast(this.roleIn(item.workspaceId), WorkspaceRole.ADMIN);
  }

  isArchived({ workspaceId }: Pick<About, 'workspaceId'>): boolean {
    return this.person.workspaces.get(workspaceId)?.archived === true;
  }

  /** Ids of the workspaces that the caller belongs to, guests as well, as far as their credential reaches. */
  reached(): string[] {
    return [...this.person.workspaces.values()]
      .filter(({ workspaceId, orgId }) => reachesWorkspace(this.caller, workspaceId, orgId || null))
      .map(({ workspaceId }) => workspaceId);
  }

  /** Returns the mark of what the caller writes, if agents must not take it for the words of a member. */
  taintOf({ workspaceId }: Pick<About, 'workspaceId'>): TextTaint | undefined {
    const { userId, userName } = this.caller;
    const writer = taintedWriterOf(this.caller);
    if (writer !== undefined) return { type: 'agent', id: writer.id, name: writer.name };
    if (isWorkspaceRoleAtLeast(this.roleIn(workspaceId), WorkspaceRole.COMMENTER)) return undefined;
    return { type: 'guest', id: userId, name: userName };
  }

  private isAssigned({ assignee }: About): boolean {
    return assignee?.type === 'user' && assignee.id === this.caller.userId;
  }

  private belongsTo({ workspaceId }: About): boolean {
    return this.person.workspaces.has(workspaceId);
  }

  private roleIn(workspaceId: string): WorkspaceRole | undefined {
    return this.person.workspaces.get(workspaceId)?.role;
  }
}

type Asking = Pick<CallContext, 'caller' | 'onward'>;

/** Returns what the caller may do. The cache of memberships is not trusted for a refusal. */
export async function rightsOf(
  { memberships }: Pick<AccessParts, 'memberships'>,
  { caller, onward }: Asking,
  suffices: (rights: ItemRights) => boolean = () => true,
): Promise<ItemRights> {
  const known = new ItemRights(caller, await memberships.of(caller.userId, onward));
  if (suffices(known)) return known;
  return new ItemRights(caller, await memberships.fresh(caller.userId, onward));
}

export interface SeenItem {
  readonly item: WorkItemRecord;
  readonly rights: ItemRights;
}

/** Returns a work item that the caller reads, with their rights. Throws `NotFound` for all others. */
export async function seeItem(
  parts: AccessParts,
  id: string,
  context: CallContext,
  suffices: (rights: ItemRights, item: WorkItemRecord) => boolean = (rights, item) => rights.canRead(item),
): Promise<SeenItem> {
  const { caller, work } = context;
  const item = await work.get(parts.items, id);
  // What is not there takes as long as what is not the caller's to see.
  const rights = await rightsOf(parts, context, (known) => item !== undefined && suffices(known, item));
  if (item === undefined || !rights.canRead(item)) throw NotFound();
  const { workspaceId, orgId } = item;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw beyondReach(caller, orgId || null);
  return { item, rights };
}

/** Throws unless the caller may do something with a work item whose workspace can be written to. */
export function requireRight(may: boolean, { item, rights }: SeenItem): void {
  if (!may) throw InsufficientRole();
  if (rights.isArchived(item)) throw WorkspaceArchived();
}
