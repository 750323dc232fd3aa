import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, CallOptions, Reply } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import type { AgentEntry } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import type { ConversationRunService } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { User } from '@commonplace/proto/identity/v1/user.js';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import {
  AddConversationMembersRequest,
  CreateConversationRequest,
  ListConversationsRequest,
  MarkConversationReadRequest,
  UpdateConversationRequest,
  UpdateConversationSettingsRequest,
} from '@commonplace/proto/messaging/v1/conversation_service.js';
import {
  ListMessagesRequest,
  SendMessageRequest,
  UpdateMessageRequest,
} from '@commonplace/proto/messaging/v1/message_service.js';
import { ListNotificationsRequest, NotificationState } from '@commonplace/proto/messaging/v1/notification_service.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { RECORDS } from '../src/conversations/parts.js';
import { removeExpired } from '../src/conversations/retention.js';
import { createMessaging } from '../src/service.js';
import { eventOf } from './stage.js';

const SCOPES = ['im:read', 'im:write', 'notification:read'];

/** A workspace in an Org, or a Personal one. */
export interface Place {
  readonly workspaceId: string;
  readonly orgId: string;
}

/** Opens the messaging service for conversations, with fakes of the other services; on SQLite unless it is given a store. */
export async function openTalkStage(
  agents: readonly AgentEntry[] = [],
  startRun: ConversationRunService['startConversationRun'] = async () => ({ refusal: '' }),
  store?: Store,
) {
  const people = new Map<string, Caller>();
  const orgs = new Map<string, Map<string, OrgMembership>>();
  const workspaces = new Map<string, Map<string, WorkspaceMembership>>();
  const readable = new Set<string>();
  let ahead = 0;
  const of = <T>(all: Map<string, Map<string, T>>, userId: string) => {
    const found = all.get(userId) ?? new Map<string, T>();
    all.set(userId, found);
    return found;
  };
  const stage = await openStage(
    createMessaging(() => Date.now() + ahead),
    [
      fake(contracts.agentDirectory, {
        lookUpAgents: async ({ agentIds }) => ({ items: agents.filter(({ id }) => agentIds.includes(id)) }),
      }),
      fake(contracts.conversationRuns, { startConversationRun: (request) => startRun(request) }),
      fake(contracts.directory, {
        getMemberships: async ({ userId }) => ({
          userId,
          orgs: [...of(orgs, userId).values()],
          groups: [],
          workspaces: [...of(workspaces, userId).values()],
        }),
      }),
      fake(contracts.index, {
        checkAccess: async ({ ids }, { caller }) => ({
          resources: ids
            .filter((id) => readable.has(`${caller.userId}:${id}`))
            .map((id) => AccessibleResource.fromPartial({ id, name: `Resource ${id}` })),
        }),
      }),
      fake(contracts.auth, {
        findUsers: async ({ ids }) => ({
          users: ids.flatMap((id) => {
            const one = people.get(id);
            return one === undefined ? [] : [User.fromPartial({ id, name: one.userName })];
          }),
        }),
      }),
    ],
    undefined,
    store,
  );
  const { host } = stage;
  const talks = host.client(contracts.conversations);
  const messages = host.client(contracts.messages);
  const access = host.client(contracts.conversationAccess);
  const as = (caller: Caller, reply: Reply = {}): Promise<CallOptions> => stage.as(caller, {}, reply);
  const { store: own, log } = stage.own;
  const records = await openCollections(own, RECORDS);
  /** Announces a change of memberships, and waits until the service has handled it. */
  async function announce(): Promise<void> {
    const event = eventOf('tenancy.workspace.updated', {});
    let hear = () => {};
    const received = new Promise<void>((resolve) => {
      hear = resolve;
    });
    const watched = await host.bus.watch(['commonplace.tenancy.>'], ({ id }) => {
      if (id === event.id) hear();
    });
    await host.bus.publish([event]);
    await received;
    await watched.close();
  }
  const placeOf = ({ userId }: Caller) => [...of(workspaces, userId).keys()][0];
  const page = (limit = 50) => ({ limit, offset: 0, cursor: '' });

  return {
    stage,
    records,
    talks,
    messages,
    access,
    as,
    person(name: string, tenant?: Caller['tenant']): Caller {
      const caller = personCalled(name, SCOPES, tenant);
      people.set(caller.userId, caller);
      return caller;
    },
    join(
      { userId }: Caller,
      { workspaceId, orgId }: Place,
      role = WorkspaceRole.EDITOR,
      orgRole = OrgRole.MEMBER,
    ): void {
      if (orgId !== '') of(orgs, userId).set(orgId, OrgMembership.fromPartial({ orgId, role: orgRole, name: 'Org' }));
      of(workspaces, userId).set(
        workspaceId,
        WorkspaceMembership.fromPartial({ workspaceId, orgId, role, name: 'Workspace' }),
      );
    },
    async archive(workspaceId: string): Promise<void> {
      for (const mine of workspaces.values()) {
        const found = mine.get(workspaceId);
        if (found !== undefined) mine.set(workspaceId, { ...found, archived: true });
      }
      await announce();
    },
    async quit({ userId }: Caller, { workspaceId, orgId }: Place): Promise<void> {
      of(workspaces, userId).delete(workspaceId);
      of(orgs, userId).delete(orgId);
      await announce();
    },
    show: ({ userId }: Caller, id: string) => readable.add(`${userId}:${id}`),
    hide: ({ userId }: Caller, id: string) => readable.delete(`${userId}:${id}`),
    wait: (ms: number) => {
      ahead += ms;
    },
    now: () => Date.now() + ahead,
    /** Removes the expired messages of a conversation now. */
    expire: (id: string) => removeExpired({ ...records, store: own, log, now: () => Date.now() + ahead }, id),
    create: async (by: Caller, fields: object, reply?: Reply) =>
      talks.createConversation(CreateConversationRequest.fromPartial(fields), await as(by, reply)),
    channel: async (by: Caller, place: Place, fields: object = {}) =>
      talks.createConversation(
        CreateConversationRequest.fromPartial({
          ...{ type: ConversationType.CHANNEL, name: 'General', workspaceId: place.workspaceId },
          ...fields,
        }),
        await as(by),
      ),
    get: async (by: Caller, conversationId: string) =>
      talks.getConversation({ conversationId, include: [] }, await as(by)),
    list: async (by: Caller, fields: object = {}) =>
      talks.listConversations(
        { ...ListConversationsRequest.fromPartial(fields), page: page(), ...fields },
        await as(by),
      ),
    update: async (by: Caller, conversationId: string, updateMask: string[], fields: object) =>
      talks.updateConversation(
        UpdateConversationRequest.fromPartial({ conversationId, updateMask, ...fields }),
        await as(by),
      ),
    set: async (by: Caller, conversationId: string, updateMask: string[], fields: object) =>
      talks.updateConversationSettings(
        UpdateConversationSettingsRequest.fromPartial({ conversationId, updateMask, ...fields }),
        await as(by),
      ),
    add: async (by: Caller, conversationId: string, fields: object, reply?: Reply) =>
      talks.addConversationMembers(
        AddConversationMembersRequest.fromPartial({ conversationId, ...fields }),
        await as(by, reply),
      ),
    leave: async (by: Caller, conversationId: string) =>
      talks.deleteConversation({ conversationId, for: 'DELETED_FOR_ME' as never }, await as(by)),
    read: async (by: Caller, conversationId: string, fields: object = {}) =>
      talks.markConversationRead(MarkConversationReadRequest.fromPartial({ conversationId, ...fields }), await as(by)),
    send: async (by: Caller, conversationId: string, fields: object | string, reply?: Reply) =>
      messages.sendMessage(
        SendMessageRequest.fromPartial({
          conversationId,
          ...(typeof fields === 'string' ? { text: fields } : fields),
        }),
        await as(by, reply),
      ),
    edit: async (
      by: Caller,
      conversationId: string,
      messageId: string,
      updateMask: string[],
      fields: object,
      metadata: Partial<CallMetadata> = {},
    ) =>
      messages.updateMessage(
        UpdateMessageRequest.fromPartial({ conversationId, messageId, updateMask, ...fields }),
        await stage.as(by, metadata),
      ),
    erase: async (by: Caller, conversationId: string, messageId: string) =>
      messages.deleteMessage({ conversationId, messageId }, await as(by)),
    history: async (by: Caller, conversationId: string, fields: object = {}) =>
      messages.listMessages(
        { ...ListMessagesRequest.fromPartial({ conversationId }), page: page(), ...fields } as ListMessagesRequest,
        await as(by),
      ),
    counts: async (by: Caller, conversationId: string) => access.getCounts({ conversationId }, await as(by)),
    /** Returns titles and counts of a person's unread notifications of a conversation. */
    async notifications(by: Caller, conversationId: string): Promise<[string, number][]> {
      const { items } = await host.client(contracts.notifications).listNotifications(
        {
          ...ListNotificationsRequest.fromPartial({}),
          ...{ state: NotificationState.UNREAD, page: page(200), workspaceId: placeOf(by) },
        },
        await as(by),
      );
      return items
        .filter(({ groupKey }) => groupKey.endsWith(conversationId))
        .map(({ title, count }) => [title, count]);
    },
    close: () => stage.close(),
  };
}

export type TalkStage = Awaited<ReturnType<typeof openTalkStage>>;

export const newPlace = (): Place => ({ workspaceId: newId(), orgId: newId() });

/** Returns a key of a person, which sends without moving their marker. */
export function keyOf(person: Caller, more: Partial<Caller['credential']> = {}): Caller {
  return { ...person, credential: { ...person.credential, type: 'api_key', id: newId(), name: 'Key', ...more } };
}
