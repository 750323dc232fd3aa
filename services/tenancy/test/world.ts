import { randomBytes } from 'node:crypto';
import type { Caller } from '@commonplace/kit/auth';
import { NotFound, OlderPeer, Unavailable } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, CallOptions, Client, Reply } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import type { Host } from '@commonplace/platform/runtime';
import { fake, openStage, type Stage } from '@commonplace/platform/testing';
import { Archive, ArchiveMode } from '@commonplace/proto/files/v1/archive.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import type { ConnectorService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Org, OrgMember } from '@commonplace/proto/tenancy/v1/org.js';
import {
  AddOrgMemberRequest,
  CreateOrgRequest,
  type OrgService,
  UpdateOrgMemberRequest,
  UpdateOrgRequest,
} from '@commonplace/proto/tenancy/v1/org_service.js';
import type { PinService } from '@commonplace/proto/tenancy/v1/pin_service.js';
import type { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Workspace, WorkspaceMember } from '@commonplace/proto/tenancy/v1/workspace.js';
import {
  AddWorkspaceMemberRequest,
  CreateWorkspaceRequest,
  ListWorkspacesRequest,
  UpdateWorkspaceRequest,
  type WorkspaceService,
} from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { config } from '../src/config.js';
import { openParts, type Parts } from '../src/parts.js';
import { createTenancy } from '../src/service.js';
import type { ItemType } from '../src/stores/pins.js';
import { watchStore } from './watched-store.js';

export const page = (limit = 200, offset = 0, cursor = '') => ({ limit, offset, cursor });

type Partially<T> = {
  [F in keyof T]?: T[F] extends object | undefined ? Partially<NonNullable<T[F]>> | undefined : T[F];
};

/** An item in the fake services. */
export interface PlayedItem {
  /** `resource` if absent. */
  readonly type?: ItemType;
  readonly workspaceId: string;
  readonly name: string;
  readonly icon?: string;
  /** Id of the user who may not read it. */
  readonly hiddenFrom?: string;
}

/** The tenancy service with fake identity and resources services. */
export interface World {
  readonly stage: Stage;
  readonly host: Host;
  readonly orgs: Client<OrgService>;
  readonly workspaces: Client<WorkspaceService>;
  readonly directory: Client<DirectoryService>;
  readonly pins: Client<PinService>;
  readonly connectors: Client<ConnectorService>;
  /** The requests to the fake services, and their responses. */
  readonly requests: {
    reassigned: { orgId: string; userId: string; toUserId: string }[];
    counted: string[][];
    countedReadable: string[][];
    ungranted: { workspaceId: string; userId: string }[];
    grantsTransferred: { orgId: string; userId: string; toUserId: string }[];
    /** Ids of workspaces that templates were copied into. */
    applied: string[];
    /** The types whose services were asked for items. */
    checked: ItemType[];
  };
  readonly play: {
    keys: number;
    /** When people were last active, by user id; undefined while identity is unavailable. */
    lastActive: Map<string, string> | undefined;
    /** Avatars by user id. */
    avatars: Map<string, string>;
    resources: Record<string, number>;
    /** Number of resources that a leaving person owns by grants, by workspace. */
    owned: Record<string, number>;
    /** Number of agents of a leaving person; undefined while their service does not answer. */
    agents: number | undefined;
    /** Number of automations of a leaving person, by workspace; undefined while their service has the version before. */
    automations: Record<string, number> | undefined;
    resourcesDown: boolean;
    /** The types of items whose services do not answer. */
    away: ItemType[];
    /** Item counts of templates by id. */
    templates: Record<string, number>;
    /** The latest export. */
    archive: Archive | undefined;
  };
  /** Resources and other items by id. */
  readonly items: Map<string, PlayedItem>;
  /** All committed events; they may arrive with a delay. */
  readonly events: DomainEvent[];
  /** Advances the service's clock. */
  wait(ms: number): void;
  readonly clock: () => number;
  as(caller: Caller, metadata?: Partial<CallMetadata>, reply?: Reply): Promise<CallOptions>;
  /** Returns the options of a call by the system itself. */
  system(): Promise<CallOptions>;
  /** Creates a registered person with a session. */
  person(name?: string): Caller;
  createOrg(caller: Caller, fields?: Partially<CreateOrgRequest>): Promise<Org>;
  updateOrg(caller: Caller, orgId: string, fields: Partially<UpdateOrgRequest>): Promise<Org>;
  invite(caller: Caller, orgId: string, fields: Partially<AddOrgMemberRequest>, reply?: Reply): Promise<OrgMember>;
  updateOrgMember(caller: Caller, fields: Partially<UpdateOrgMemberRequest>): Promise<OrgMember>;
  /** Creates a person who has joined an Org with a role that `owner` granted. */
  join(owner: Caller, orgId: string, role: OrgRole, name?: string): Promise<{ caller: Caller; memberId: string }>;
  createWorkspace(caller: Caller, fields?: Partially<CreateWorkspaceRequest>): Promise<Workspace>;
  updateWorkspace(caller: Caller, workspaceId: string, fields: Partially<UpdateWorkspaceRequest>): Promise<Workspace>;
  getWorkspace(caller: Caller, workspaceId: string): Promise<Workspace>;
  listWorkspaces(
    caller: Caller,
    fields?: Partially<ListWorkspacesRequest>,
  ): Promise<{ names: string[]; items: Workspace[]; total: number; nextCursor: string | undefined }>;
  add(
    caller: Caller,
    workspaceId: string,
    fields: Partially<AddWorkspaceMemberRequest>,
    reply?: Reply,
  ): Promise<WorkspaceMember>;
  /** Adds a person to a workspace at once. */
  put(owner: Caller, workspaceId: string, person: Caller, role: WorkspaceRole): Promise<WorkspaceMember>;
  accept(
    person: Caller,
    inviteUrl: string | undefined,
  ): Promise<{ orgId?: string | undefined; workspaceId?: string | undefined }>;
  /** Archives a workspace directly in the store, bypassing the service. */
  archive(workspaceId: string): Promise<void>;
  /** Closes the world. Throws if any query had no index. */
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  process.env.COMMONPLACE_SECRETS_KEY ??= randomBytes(32).toString('base64');
  const people = new Map<string, Caller>();
  const requests: World['requests'] = {
    reassigned: [],
    counted: [],
    countedReadable: [],
    ungranted: [],
    grantsTransferred: [],
    applied: [],
    checked: [],
  };
  const play: World['play'] = {
    keys: 0,
    lastActive: new Map(),
    avatars: new Map(),
    resources: {},
    owned: {},
    resourcesDown: false,
    away: [],
    templates: {},
    archive: undefined,
    agents: 0,
    automations: {},
  };
  const items: World['items'] = new Map();
  let ahead = 0;
  const clock = () => Date.now() + ahead;
  const toUser = ({ userId, userName, userEmail }: Caller) => ({
    id: userId,
    name: userName,
    email: userEmail,
    avatarUrl: play.avatars.get(userId),
    locale: 'en',
    timezone: 'UTC',
  });
  /** Returns the items of a type among the given ones that a person may read. */
  const readable = (type: ItemType, ids: readonly string[], { userId }: Caller) => {
    if (ids.length > 0) requests.checked.push(type);
    if (play.away.includes(type)) throw Unavailable();
    return ids.flatMap((id) => {
      const item = items.get(id);
      const isSeen = item !== undefined && (item.type ?? 'resource') === type && item.hiddenFrom !== userId;
      return isSeen ? [{ id, name: item.name, icon: item.icon, workspaceId: item.workspaceId }] : [];
    });
  };
  const auth = fake(contracts.auth, {
    findUsers: async ({ ids, emails }) => {
      if (play.lastActive === undefined) throw Unavailable();
      const found = [...people.values()].filter((one) => ids.includes(one.userId) || emails.includes(one.userEmail));
      return { users: found.map(toUser) };
    },
    getActivity: async ({ userIds }) => {
      if (play.lastActive === undefined) throw Unavailable();
      const known = [...play.lastActive].filter(([userId]) => userIds.includes(userId));
      return { people: known.map(([userId, lastActiveAt]) => ({ userId, lastActiveAt })) };
    },
    reassignKeys: async (request) => {
      requests.reassigned.push(request);
      return { reassigned: play.keys };
    },
  });
  const index = fake(contracts.index, {
    countResources: async ({ workspaceIds, readableIds }) => {
      if (play.resourcesDown) throw Unavailable();
      requests.counted.push(workspaceIds);
      requests.countedReadable.push(readableIds);
      return { counts: play.resources };
    },
    checkAccess: async ({ ids }, { caller }) => ({
      resources: readable('resource', ids, caller).map((one) => AccessibleResource.fromPartial(one)),
    }),
  });
  const permissions = fake(contracts.permissions, {
    removeMemberGrants: async (request) => {
      requests.ungranted.push(request);
      return { removed: 0 };
    },
    transferMemberGrants: async (request) => {
      requests.grantsTransferred.push(request);
      return { transferred: play.owned };
    },
  });
  const templates = fake(contracts.templateUse, {
    applyTemplate: async ({ templateId, workspaceId }) => {
      const resourceCount = play.templates[templateId];
      if (resourceCount === undefined) throw NotFound();
      requests.applied.push(workspaceId);
      return { running: resourceCount > 200, resourceCount };
    },
  });
  const archives = fake(contracts.archives, {
    beginExport: async ({ format, include }) => {
      play.archive = Archive.fromPartial({ id: newId(), mode: ArchiveMode.EXPORT, format, include });
      return play.archive;
    },
    getLatestArchives: async ({ workspaceIds }) => ({
      archives: workspaceIds.map((workspaceId) => ({ workspaceId, archive: play.archive })),
    }),
  });
  const agents = fake(contracts.agentDirectory, {
    countAgents: async () => {
      if (play.agents === undefined) throw Unavailable();
      return { count: play.agents };
    },
    checkAccess: async ({ agentIds, chatSessionIds }, { caller }) => ({
      agents: readable('agent', agentIds, caller).map(({ id, name, workspaceId }) => ({
        ...{ id, name, workspaceIds: [newId(), workspaceId] },
      })),
      chatSessions: readable('chat_session', chatSessionIds, caller).map(({ id, name: title, workspaceId }) => ({
        ...{ id, title, workspaceId },
      })),
    }),
  });
  const work = fake(contracts.workDirectory, {
    countAutomations: async () => {
      if (play.automations === undefined) throw OlderPeer();
      return { counts: play.automations };
    },
    checkAccess: async ({ automationIds }, { caller }) => ({
      automations: readable('automation', automationIds, caller),
    }),
  });
  const conversations = fake(contracts.conversationAccess, {
    checkAccess: async ({ conversationIds }, { caller }) => ({
      conversations: readable('im_conversation', conversationIds, caller),
    }),
  });
  const module = createTenancy(clock);
  const watched = watchStore();
  let host: Host | undefined;
  const stage = await openStage(
    {
      ...module,
      start: (given) => {
        host = new Proxy(given, {
          get: (target, key) => (key === 'store' ? watched.wrap(target.store) : Reflect.get(target, key)),
        });
        return module.start(host);
      },
    },
    [auth, index, permissions, templates, archives, agents, work, conversations],
  );
  const orgs = stage.host.client(contracts.orgs);
  const workspaces = stage.host.client(contracts.workspaces);
  const directory = stage.host.client(contracts.directory);
  const events: DomainEvent[] = [];
  const subscription = await stage.host.bus.subscribe(
    { consumer: 'tenancy-test', types: ['commonplace.tenancy.>'], batch: 100 },
    async (batch) => {
      events.push(...batch);
    },
  );

  const world: World = {
    stage,
    get host() {
      return host as Host;
    },
    orgs,
    workspaces,
    directory,
    pins: stage.host.client(contracts.pins),
    connectors: stage.host.client(contracts.connectors),
    items,
    requests,
    play,
    events,
    wait: (ms) => {
      ahead += ms;
    },
    clock,
    as: (caller, metadata, reply) => stage.as(caller, metadata, reply),
    system: () => stage.as(undefined),
    person(name = `P${people.size}`) {
      const userId = newId();
      const caller: Caller = {
        userId,
        userName: name,
        userEmail: `${name.toLowerCase()}.${people.size}@example.com`,
        credential: { type: 'session', id: `session-${userId}`, scopes: [] },
      };
      people.set(userId, caller);
      return caller;
    },
    createOrg: async (caller, fields = {}) =>
      orgs.createOrg(
        CreateOrgRequest.fromPartial({ name: 'Org', ...fields } as CreateOrgRequest),
        await stage.as(caller),
      ),
    updateOrg: async (caller, orgId, fields) =>
      orgs.updateOrg(UpdateOrgRequest.fromPartial({ orgId, ...fields } as UpdateOrgRequest), await stage.as(caller)),
    invite: async (caller, orgId, fields, reply) =>
      orgs.addOrgMember(
        AddOrgMemberRequest.fromPartial({ orgId, ...forAnyAccount(fields), ...fields } as AddOrgMemberRequest),
        await stage.as(caller, {}, reply),
      ),
    updateOrgMember: async (caller, fields) =>
      orgs.updateOrgMember(
        UpdateOrgMemberRequest.fromPartial(fields as UpdateOrgMemberRequest),
        await stage.as(caller),
      ),
    async join(owner, orgId, role, name) {
      const caller = world.person(name);
      const { id, inviteUrl } = await world.invite(owner, orgId, { userId: caller.userId, role });
      await world.accept(caller, inviteUrl);
      return { caller, memberId: id };
    },
    createWorkspace: async (caller, fields = {}) =>
      workspaces.createWorkspace(
        CreateWorkspaceRequest.fromPartial({ name: 'Workspace', ...fields } as CreateWorkspaceRequest),
        await stage.as(caller),
      ),
    updateWorkspace: async (caller, workspaceId, fields) =>
      workspaces.updateWorkspace(
        UpdateWorkspaceRequest.fromPartial({ workspaceId, ...fields } as UpdateWorkspaceRequest),
        await stage.as(caller),
      ),
    getWorkspace: async (caller, workspaceId) => workspaces.getWorkspace({ workspaceId }, await stage.as(caller)),
    async listWorkspaces(caller, fields = {}) {
      const request = ListWorkspacesRequest.fromPartial({ page: page(), ...fields } as ListWorkspacesRequest);
      const { items, page: shown } = await workspaces.listWorkspaces(request, await stage.as(caller));
      return { items, names: items.map(({ name }) => name), total: shown?.total ?? -1, nextCursor: shown?.nextCursor };
    },
    add: async (caller, workspaceId, fields, reply) =>
      workspaces.addWorkspaceMember(
        AddWorkspaceMemberRequest.fromPartial({
          workspaceId,
          ...forAnyAccount(fields),
          ...fields,
        } as AddWorkspaceMemberRequest),
        await stage.as(caller, {}, reply),
      ),
    put: (owner, workspaceId, person, role) => world.add(owner, workspaceId, { userId: person.userId, role }),
    async accept({ userId, userName, userEmail }, inviteUrl) {
      const token = new URL(inviteUrl ?? '').searchParams.get('invite') ?? '';
      return directory.acceptInvitation({ token, userId, userName, userEmail }, await stage.as(undefined));
    },
    async archive(workspaceId) {
      const { workspaceCollection } = await import('../src/stores/workspaces.js');
      const { store } = world.host;
      const all = await store.collection(workspaceCollection);
      const workspace = await all.get(workspaceId);
      if (workspace === undefined) throw new Error('there is no such workspace');
      const work = store.begin();
      work.replace(all, workspace, { ...workspace, state: 'archived', archivedAt: new Date().toISOString() });
      await work.commit();
    },
    async close() {
      await subscription.close();
      await stage.close();
      if (watched.unindexed.length > 0) throw new Error(`queries without an index:\n${watched.unindexed.join('\n')}`);
    },
  };
  return world;
}

/** Invites any account by default, unless the test says otherwise. */
function forAnyAccount({ email, userId }: { email?: string | undefined; userId?: string | undefined }) {
  return { anyAccount: email !== undefined && userId === undefined };
}

/** Returns the same person with an API key for a tenant: an Org's id, or `null` for the Personal one. */
export function withKey(caller: Caller, orgId: string | null, workspaceIds?: readonly string[]): Caller {
  const credential = { type: 'api_key', id: `key-${newId()}`, name: 'A key', scopes: [], workspaceIds } as const;
  return { ...caller, tenant: { orgId }, credential };
}

/** Returns the same person with a session and an `X-Tenant` header. */
export function withTenant(caller: Caller, orgId: string | null): Caller {
  return { ...caller, tenant: { orgId } };
}

/** Returns parts on the world's own store, for jobs that a test runs by itself. */
export function openWorldParts({ host, stage, clock }: World): Promise<Parts> {
  return openParts({
    store: host.store,
    settings: host.settings(config),
    users: stage.host.client(contracts.auth),
    index: stage.host.client(contracts.index),
    permissions: stage.host.client(contracts.permissions),
    templates: stage.host.client(contracts.templateUse),
    archives: stage.host.client(contracts.archives),
    agents: stage.host.client(contracts.agentDirectory),
    work: stage.host.client(contracts.workDirectory),
    conversations: stage.host.client(contracts.conversationAccess),
    log: host.log,
    clock,
  });
}
