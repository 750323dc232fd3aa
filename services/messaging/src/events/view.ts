import {
  beyondReach,
  type Caller,
  defaultOrgId,
  isWorkspaceLimited,
  reachesTenant,
  reachesWorkspace,
} from '@commonplace/kit/auth';
import { AppError, InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import { EVENT_TYPES, type EventType, isEventType, SCOPES_OF } from '@commonplace/platform/public-events';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { ConversationReaders } from './conversation-readers.js';
import type { StreamEvent } from './records.js';

export interface ViewParts {
  readonly memberships: MembershipCache;
  readonly directory: Pick<Client<DirectoryService>, 'lookUpWorkspace'>;
  readonly index: Pick<Client<IndexService>, 'checkReaders'>;
  readonly conversations: ConversationReaders;
  systemCall(): CallOptions;
}

/** What a request asks for. */
export interface Wanted {
  readonly workspaceId?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly types: readonly string[];
}

/** The events that one reader has asked for, as far as it follows from the request, the credential and what they belong to. */
export class View {
  /** The tenants whose events may be among them; they change with the person's memberships. */
  tenants: ReadonlySet<string> = new Set();

  private constructor(
    /** The call that has opened it, for questions on the caller's behalf however long it lasts. */
    readonly context: CallContext,
    /** Null for the Personal tenant. */
    private readonly orgId: string | null,
    private readonly wanted: Wanted,
    private readonly types: ReadonlySet<EventType>,
    private readonly parts: ViewParts,
  ) {}

  /** Opens the view of a caller. Throws what their request for the workspace or conversation itself would. */
  static async open(parts: ViewParts, asked: Wanted, context: CallContext): Promise<View> {
    const { caller } = context;
    const types = typesFor(caller, asked.types);
    // `X-Workspace-Id` narrows as the parameter does; if they differ, the credential does not reach the parameter's.
    const workspaceId = asked.workspaceId ?? caller.workspaceId;
    const lasts = lasting(context, parts);
    const orgId =
      workspaceId !== undefined
        ? await orgOf(parts, workspaceId, caller)
        : ((await orgOfConversation(parts, asked, lasts)) ?? defaultOrgId(caller));
    const view = new View(lasts, orgId || null, { ...asked, workspaceId }, types, parts);
    await view.recheck(true);
    return view;
  }

  get caller(): Caller {
    return this.context.caller;
  }

  /** Reads again what the person belongs to. Throws if they have lost access to what they asked for. */
  async recheck(isFresh: boolean): Promise<void> {
    const { memberships, systemCall } = this.parts;
    const { userId } = this.caller;
    const person = await (isFresh ? memberships.fresh(userId, systemCall()) : memberships.of(userId, systemCall()));
    const { workspaceId, conversationId } = this.wanted;
    if (this.orgId !== null && !person.orgs.has(this.orgId)) throw NotFound();
    if (workspaceId !== undefined && !(await enters(this.parts, workspaceId, person))) throw NotFound();
    if (conversationId === undefined) {
      this.tenants = new Set(this.orgId === null ? personalTenants(person, workspaceId) : [this.orgId]);
      return;
    }
    const place = await placeOf(this.parts, conversationId, this.context);
    if (!this.reaches(place.orgId, place.workspaceId)) throw beyondReach(this.caller, place.orgId || null);
    if (workspaceId !== undefined && workspaceId !== place.workspaceId) throw noConversation();
    this.tenants = new Set([place.orgId || (place.workspaceId as string)]);
  }

  /** Returns whether an event is one of those asked for, before its own audience is considered. */
  has(event: StreamEvent): boolean {
    if (event.type === 'reset') return true;
    const { people, ...others } = event.audience;
    if (people?.includes(this.caller.userId) === false && Object.keys(others).length === 0) return false;
    if (!this.types.has(event.type) || !this.hasScope(event, event.type)) return false;
    const { workspaceId, conversationId } = this.wanted;
    if (workspaceId !== undefined && event.workspaceId !== workspaceId) return false;
    if (conversationId !== undefined && event.data.conversation_id !== conversationId) return false;
    return this.reaches(event.orgId, event.workspaceId);
  }

  /** Returns whether an event tells that the reader may have lost the conversation that they have asked for. */
  mayEndBy({ type, audience, data }: StreamEvent): boolean {
    if (type !== 'conversation.updated' || data.conversation_id !== this.wanted.conversationId) return false;
    const isDeleted = (data.changed_fields as readonly string[]).includes('deleted');
    return isDeleted || audience.people?.includes(this.caller.userId) === true;
  }

  /** Returns whether the credential reaches a workspace; without one, whether it reaches what belongs to the Org as a whole. */
  reaches(orgId: string, workspaceId: string | undefined): boolean {
    const { caller } = this;
    if (workspaceId !== undefined) return reachesWorkspace(caller, workspaceId, orgId || null);
    return reachesTenant(caller, orgId || null) && !isWorkspaceLimited(caller) && caller.workspaceId === undefined;
  }

  /** Members of workspaces and of Orgs are read with different scopes. */
  private hasScope({ workspaceId }: StreamEvent, type: EventType): boolean {
    if (!type.startsWith('member.')) return true;
    return this.caller.credential.scopes.includes(workspaceId === undefined ? 'org_member:read' : 'member:read');
  }
}

interface ConversationPlace {
  /** Empty in the Personal tenant. */
  readonly orgId: string;
  /** Absent for one of an Org as a whole. */
  readonly workspaceId: string | undefined;
}

const noConversation = () => NotFound({}, { param: 'conversation_id' });

/** Returns where a conversation of the caller is. Throws for one that they are no member of. */
async function placeOf(
  { conversations }: Pick<ViewParts, 'conversations'>,
  conversationId: string,
  context: CallContext,
): Promise<ConversationPlace> {
  const { userId } = context.caller;
  const [standing] = await conversations.standingsOf([{ userId, conversationId }], context);
  if (!standing?.isActive) throw noConversation();
  return { orgId: standing.orgId, workspaceId: standing.workspaceId || undefined };
}

/** Returns the Org of the conversation that a request names, which decides its tenant; empty in the Personal one. */
async function orgOfConversation(
  parts: ViewParts,
  { conversationId }: Wanted,
  context: CallContext,
): Promise<string | undefined> {
  return conversationId === undefined ? undefined : (await placeOf(parts, conversationId, context)).orgId;
}

/** A caller token lasts for seconds and a stream for an hour: its questions are those of the system. */
function lasting(context: CallContext, { systemCall }: ViewParts): CallContext {
  return Object.create(context, { onward: { get: () => systemCall() } }) as CallContext;
}

/** Returns the types that a caller gets. Throws `insufficient_scope` for one that they ask for without its scope. */
function typesFor({ credential }: Caller, asked: readonly string[]): ReadonlySet<EventType> {
  const opens = (type: EventType) => SCOPES_OF[type].some((scope) => credential.scopes.includes(scope));
  const types = asked.filter(isEventType);
  const closed = types.find((type) => !opens(type));
  if (closed !== undefined) {
    const [scope] = SCOPES_OF[closed];
    throw new AppError('PERMISSION_DENIED', 'insufficient_scope', `Events of type ${closed} need the scope ${scope}.`, {
      details: { scope },
    });
  }
  return new Set(types.length > 0 ? types : EVENT_TYPES.filter(opens));
}

/** Returns the Org of a workspace that the person may enter; null for a Personal one. Throws otherwise. */
async function orgOf(parts: ViewParts, workspaceId: string, caller: Caller): Promise<string | null> {
  const person = await parts.memberships.fresh(caller.userId, parts.systemCall());
  const membership = person.workspaces.get(workspaceId);
  const isVisitor = membership === undefined && (await enters(parts, workspaceId, person));
  if (membership === undefined && !isVisitor) throw await refusalOf(parts, workspaceId, person, caller);
  const orgId = membership?.orgId ?? (await parts.directory.lookUpWorkspace({ workspaceId }, parts.systemCall())).orgId;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw beyondReach(caller, orgId || null);
  return orgId || null;
}

/** Returns the error for a workspace that the person may not enter: administrators of its Org know that it exists. */
async function refusalOf(
  { directory, systemCall }: ViewParts,
  workspaceId: string,
  { orgs }: PersonMemberships,
  caller: Caller,
): Promise<AppError> {
  const administered = [...orgs.values()].filter(({ role }) => role === OrgRole.ADMIN || role === OrgRole.OWNER);
  const found = await directory.lookUpWorkspace({ workspaceId }, systemCall()).catch(() => undefined);
  if (found === undefined || !administered.some(({ orgId }) => orgId === found.orgId)) {
    return NotFound({}, { param: 'workspace_id' });
  }
  return reachesWorkspace(caller, workspaceId, found.orgId) ? InsufficientRole() : beyondReach(caller, found.orgId);
}

/** Returns whether a person is a member of a workspace, or holds a grant in it. */
async function enters(
  { index, systemCall }: Pick<ViewParts, 'index' | 'systemCall'>,
  workspaceId: string,
  { userId, workspaces, orgs }: PersonMemberships,
): Promise<boolean> {
  if (workspaces.has(workspaceId)) return true;
  if (orgs.size === 0) return false;
  const { readers } = await index.checkReaders({ resourceIds: [], userIds: [userId], workspaceId }, systemCall());
  return readers[0]?.entersWorkspace ?? false;
}

/** Returns the tenants of a person outside of Orgs: each Personal workspace is one. */
function personalTenants({ userId, workspaces }: PersonMemberships, only: string | undefined): string[] {
  if (only !== undefined) return [only];
  const shared = [...workspaces.values()].flatMap(({ workspaceId, orgId }) => (orgId === '' ? [workspaceId] : []));
  return [...new Set([homeOf(userId), ...shared])];
}
