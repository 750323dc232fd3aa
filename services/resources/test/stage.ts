import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, Client, Reply } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import type { ContentService } from '@commonplace/proto/resources/v1/content_service.js';
import type { CopyService } from '@commonplace/proto/resources/v1/copy_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { AccessMode, type Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  CreateResourceRequest,
  ListResourcesRequest,
  OnConflict,
  type ResourceService,
  UpdateResourceRequest,
} from '@commonplace/proto/resources/v1/resource_service.js';
import type { SnapshotService } from '@commonplace/proto/resources/v1/snapshot_service.js';
import type { TrashService } from '@commonplace/proto/resources/v1/trash_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { resources } from '../src/service.js';

export const SCOPES = ['resource:read', 'resource:write', 'content:read', 'content:write', 'share:write'];

export interface Member {
  readonly caller: Caller;
  role: WorkspaceRole | undefined;
}

/** The resources service with a fake tenancy: one Org, two workspaces, people by role. */
export interface World {
  readonly stage: Stage;
  /** The addresses of each request for people. */
  readonly lookedUp: readonly (readonly string[])[];
  readonly orgId: string;
  readonly workspaceId: string;
  readonly otherWorkspaceId: string;
  readonly personalId: string;
  readonly resources: Client<ResourceService>;
  readonly content: Client<ContentService>;
  readonly copies: Client<CopyService>;
  readonly snapshots: Client<SnapshotService>;
  readonly trash: Client<TrashService>;
  readonly index: Client<IndexService>;
  /** Creates a person with a role in both workspaces of the Org. */
  member(role: WorkspaceRole): Caller;
  /** Sets a person's role in the workspaces; undefined removes it. */
  setRole(caller: Caller, role: WorkspaceRole | undefined): void;
  archive(archived: boolean): void;
  create(
    caller: Caller,
    fields: Partial<CreateResourceRequest>,
    metadata?: Partial<CallMetadata>,
    reply?: Reply,
  ): Promise<Resource>;
  update(
    caller: Caller,
    id: string,
    fields: Partial<UpdateResourceRequest>,
    metadata?: Partial<CallMetadata>,
  ): Promise<Resource>;
  get(caller: Caller, id: string): Promise<Resource>;
  list(
    caller: Caller,
    fields?: Partial<ListResourcesRequest>,
  ): Promise<{ ids: string[]; total: number; names: string[] }>;
  remove(caller: Caller, id: string): Promise<{ trashedCount: number }>;
  /** Sets what happens when a job asks whether a workspace was created. None is. */
  whenAskedFor(act: () => Promise<void>): void;
}

/** Opens the service with a workspace whose members are played; on a store of its own unless one is given. */
export async function openWorld(store?: Store): Promise<World> {
  const orgId = newId();
  const workspaceId = newId();
  const otherWorkspaceId = newId();
  const personalId = newId();
  const roles = new Map<string, WorkspaceRole | undefined>();
  let archived = false;
  let askedFor: () => Promise<void> = async () => {};
  const membership = (id: string, role: WorkspaceRole, org: string) => ({
    workspaceId: id,
    orgId: org,
    role,
    archived: archived && id === workspaceId,
    editorsCanShare: false,
    trashRetentionDays: 30,
    name: 'W',
  });
  const directory = fake(contracts.directory, {
    finishTemplate: async () => {
      await askedFor();
      return { found: false };
    },
    getMemberships: async ({ userId }) => {
      const role = roles.get(userId);
      const org = {
        orgId,
        name: 'Org',
        role: OrgRole.MEMBER,
        maxKeyLifetimeDays: undefined,
        allowExternalSharing: true,
      };
      if (!roles.has(userId)) return { userId, orgs: [], workspaces: [], groups: [] };
      const both = role === undefined ? [] : [workspaceId, otherWorkspaceId].map((id) => membership(id, role, orgId));
      const own = role === WorkspaceRole.OWNER ? [membership(personalId, WorkspaceRole.OWNER, '')] : [];
      return { userId, orgs: [org], workspaces: [...both, ...own], groups: [] };
    },
  });
  const lookedUp: (readonly string[])[] = [];
  const users = fake(contracts.auth, {
    findUsers: async ({ emails }) => {
      lookedUp.push(emails);
      return { users: [] };
    },
  });
  const stage = await openStage(resources, [directory, users], undefined, store);
  const client = stage.host.client(contracts.resources);
  // Memberships are cached until tenancy publishes a change.
  const tell = () => stage.host.bus.publish([event()]);
  let changed = Promise.resolve();
  return {
    stage,
    lookedUp,
    orgId,
    workspaceId,
    otherWorkspaceId,
    personalId,
    resources: client,
    content: stage.host.client(contracts.content),
    copies: stage.host.client(contracts.copies),
    snapshots: stage.host.client(contracts.snapshots),
    trash: stage.host.client(contracts.trash),
    index: stage.host.client(contracts.index),
    member(role) {
      const caller = personCalled(`P${roles.size}`, SCOPES);
      roles.set(caller.userId, role);
      return caller;
    },
    setRole(caller, role) {
      roles.set(caller.userId, role);
      changed = changed.then(tell);
    },
    whenAskedFor(act) {
      askedFor = act;
    },
    archive(value) {
      archived = value;
      changed = changed.then(tell);
    },
    async create(caller, fields, metadata, reply) {
      await changed;
      const request = CreateResourceRequest.fromPartial({
        type: ResourceType.FOLDER,
        name: 'Untitled',
        accessMode: AccessMode.UNSPECIFIED,
        onConflict: OnConflict.UNSPECIFIED,
        ...(fields.parentId === undefined ? { workspaceId } : {}),
        ...fields,
      });
      return client.createResource(request, await stage.as(caller, metadata, reply));
    },
    async update(caller, id, fields, metadata) {
      await changed;
      const request = UpdateResourceRequest.fromPartial({ resourceId: id, ...fields });
      return client.updateResource(request, await stage.as(caller, metadata));
    },
    async get(caller, id) {
      await changed;
      return client.getResource({ resourceId: id, include: [], includeTrashed: false }, await stage.as(caller));
    },
    async list(caller, fields = {}) {
      await changed;
      const page = { limit: 200, offset: 0, cursor: '' };
      const request = ListResourcesRequest.fromPartial({ workspaceId, page, ...fields });
      const { items, page: shown } = await client.listResources(request, await stage.as(caller));
      return { ids: items.map(({ id }) => id), names: items.map(({ name }) => name), total: shown?.total ?? -1 };
    },
    async remove(caller, id) {
      await changed;
      return client.deleteResource({ resourceId: id }, await stage.as(caller));
    },
  };
}

function event() {
  return {
    specversion: '1.0',
    id: newId(),
    source: '/tenancy',
    type: 'commonplace.tenancy.workspace.updated',
    subject: 'w',
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: {},
  } as const;
}
