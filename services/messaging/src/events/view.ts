import {
  type Caller,
  credentialOutOfScope,
  defaultOrgId,
  isWorkspaceLimited,
  reachesTenant,
  reachesWorkspace,
} from '@commonplace/kit/auth';
import { InsufficientScope, NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import { type MembershipCache, type PersonMemberships, refusalOfWorkspace } from '@commonplace/platform/memberships';
import { EVENT_TYPES, type EventType, isEventType, SCOPES_OF } from '@commonplace/platform/public-events';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { ConversationReaders } from './conversation-readers.js';
import type { StreamEvent } from './records.js';

export interface ViewParts {
  readonly memberships: MembershipCache;
  readonly directory: Pick<Client<DirectoryService>, 'lookUpWorkspace'>;
  readonly index: Pick<Client<IndexService>, 'checkReaders'>;
  readonly conversations: ConversationReaders;
  systemCall(): CallOptions;
}

/** The filters of a request. */
interface ViewFilters {
  readonly workspaceId?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly types: readonly string[];
}

/** Decides which events a reader has asked for, by request, credential and memberships. */
export class View {
  /** The tenants whose events the reader may get; they change with the person's memberships. */
  tenants: ReadonlySet<string> = new Set();
  /** Whether the reader is no member of the workspace that the request names, and enters it by what is shared there. */
  isVisit = false;

  private constructor(
    /** The call that opened the view, with credentials that last as long as the stream. */
    readonly context: CallContext,
    /** Null for the Personal tenant. */
    private readonly orgId: string | null,
    private readonly wanted: ViewFilters,
    private readonly types: ReadonlySet<EventType>,
    private readonly parts: ViewParts,
  ) {}

  /** Opens the view of a caller. Throws the errors that a request for the named workspace or conversation would. */
  static async open(parts: ViewParts, asked: ViewFilters, context: CallContext): Promise<View> {
    const { caller } = context;
    const types = typesFor(caller, asked.types);
    // `X-Workspace-Id` narrows like the parameter. If the two differ, `reachesWorkspace` refuses the parameter.
    const workspaceId = asked.workspaceId ?? caller.workspaceId;
    const longLived = withSystemCalls(context, parts);
    const orgId =
      workspaceId !== undefined
        ? await orgOf(parts, workspaceId, caller)
        : ((await orgOfConversation(parts, asked, longLived)) ?? defaultOrgId(caller));
    const view = new View(longLived, orgId || null, { ...asked, workspaceId }, types, parts);
    await view.recheck(true);
    return view;
  }

  get caller(): Caller {
    return this.context.caller;
  }

  /** Reads the person's memberships again. Throws if the person has lost access to what the request named. */
  async recheck(isFresh: boolean): Promise<void> {
    const { memberships, systemCall } = this.parts;
    const { userId } = this.caller;
    const person = await (isFresh ? memberships.fresh(userId, systemCall()) : memberships.of(userId, systemCall()));
    const { workspaceId, conversationId } = this.wanted;
    if (this.orgId !== null && !person.orgs.has(this.orgId)) throw NotFound();
    if (workspaceId !== undefined && !(await enters(this.parts, workspaceId, person))) throw NotFound();
    this.isVisit = workspaceId !== undefined && !person.workspaces.has(workspaceId);
    if (conversationId === undefined) {
      this.tenants = new Set(this.orgId === null ? personalTenants(person, workspaceId) : [this.orgId]);
      return;
    }
    const place = await placeOf(this.parts, conversationId, this.context);
    if (!this.reaches(place.orgId, place.workspaceId)) throw credentialOutOfScope(this.caller, place.orgId || null);
    if (workspaceId !== undefined && workspaceId !== place.workspaceId) throw noConversation();
    this.tenants = new Set([place.orgId || (place.workspaceId as string)]);
  }

  /** Returns whether an event matches the request and the credential; its audience is checked later. */
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

  /** Returns whether an event may mean that the reader has lost the conversation named in the request. */
  mayEndBy({ type, audience, data }: StreamEvent): boolean {
    if (type !== 'conversation.updated' || data.conversation_id !== this.wanted.conversationId) return false;
    const isDeleted = (data.changed_fields as readonly string[]).includes('deleted');
    return isDeleted || audience.people?.includes(this.caller.userId) === true;
  }

  /** Returns whether the credential reaches a workspace or, without one, what belongs to the whole Org. */
  reaches(orgId: string, workspaceId: string | undefined): boolean {
    const { caller } = this;
    if (workspaceId !== undefined) return reachesWorkspace(caller, workspaceId, orgId || null);
    return reachesTenant(caller, orgId || null) && !isWorkspaceLimited(caller) && caller.workspaceId === undefined;
  }

  /** Checks the scope for events about members, which differs between workspaces and Orgs. */
  private hasScope({ workspaceId }: StreamEvent, type: EventType): boolean {
    if (!type.startsWith('member.')) return true;
    return this.caller.credential.scopes.includes(workspaceId === undefined ? 'org_member:read' : 'member:read');
  }
}

interface ConversationPlace {
  /** Empty in the Personal tenant. */
  readonly orgId: string;
  /** Absent for a conversation of a whole Org. */
  readonly workspaceId: string | undefined;
}

const noConversation = () => NotFound({}, { param: 'conversation_id' });

/** Returns the place of a conversation of the caller. Throws NotFound if the caller is not an active member. */
async function placeOf(
  { conversations }: Pick<ViewParts, 'conversations'>,
  conversationId: string,
  context: CallContext,
): Promise<ConversationPlace> {
  const { userId } = context.caller;
  const [membership] = await conversations.membershipsOf([{ userId, conversationId }], context);
  if (!membership?.isActive) throw noConversation();
  return { orgId: membership.orgId, workspaceId: membership.workspaceId || undefined };
}

/**
 * Returns the Org of the conversation that a request names; empty for a Personal conversation, undefined without a
 * conversation.
 */
async function orgOfConversation(
  parts: ViewParts,
  { conversationId }: ViewFilters,
  context: CallContext,
): Promise<string | undefined> {
  return conversationId === undefined ? undefined : (await placeOf(parts, conversationId, context)).orgId;
}

/**
 * Returns a context whose onward calls are made by the system, since a caller token lasts seconds and a stream an hour.
 */
function withSystemCalls(context: CallContext, { systemCall }: ViewParts): CallContext {
  return Object.create(context, { onward: { get: () => systemCall() } }) as CallContext;
}

/** Returns the event types for a caller. Throws `insufficient_scope` if the request names a type without its scope. */
function typesFor({ credential }: Caller, asked: readonly string[]): ReadonlySet<EventType> {
  const opens = (type: EventType) => SCOPES_OF[type].some((scope) => credential.scopes.includes(scope));
  const types = asked.filter(isEventType);
  const closed = types.find((type) => !opens(type));
  if (closed !== undefined) {
    const [scope] = SCOPES_OF[closed];
    throw InsufficientScope({ scope }, { message: `Events of type ${closed} need the scope ${scope}.` });
  }
  return new Set(types.length > 0 ? types : EVENT_TYPES.filter(opens));
}

/** Returns the Org of a workspace that the person may enter; null if it is Personal. Throws otherwise. */
async function orgOf(parts: ViewParts, workspaceId: string, caller: Caller): Promise<string | null> {
  const person = await parts.memberships.fresh(caller.userId, parts.systemCall());
  const membership = person.workspaces.get(workspaceId);
  const isVisitor = membership === undefined && (await enters(parts, workspaceId, person));
  if (membership === undefined && !isVisitor) {
    const asking = { caller, onward: parts.systemCall() };
    throw await refusalOfWorkspace(parts.directory, workspaceId, person, asking, 'workspace_id');
  }
  const orgId = membership?.orgId ?? (await parts.directory.lookUpWorkspace({ workspaceId }, parts.systemCall())).orgId;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw credentialOutOfScope(caller, orgId || null);
  return orgId || null;
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

/** Returns the tenants of a person outside of Orgs; each Personal workspace is a tenant. */
function personalTenants({ userId, workspaces }: PersonMemberships, only: string | undefined): string[] {
  if (only !== undefined) return [only];
  const shared = [...workspaces.values()].flatMap(({ workspaceId, orgId }) => (orgId === '' ? [workspaceId] : []));
  return [...new Set([homeOf(userId), ...shared])];
}
