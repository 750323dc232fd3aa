import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId, newRequestId } from '@commonplace/kit/id';
import type { CallMetadata, Client, Reply } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { Implementation } from '@commonplace/platform/runtime';
import { CALL_MS, openStage, type Stage } from '@commonplace/platform/testing';
import type { AccessRequest } from '@commonplace/proto/resources/v1/access_request.js';
import {
  type AccessRequestService,
  CreateAccessRequestRequest,
  UpdateAccessRequestRequest,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import type { CopyService } from '@commonplace/proto/resources/v1/copy_service.js';
import { GetSearchFilterRequest, type IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import {
  DeletePermissionRequest,
  GetPermissionsRequest,
  GrantPermissionRequest,
  type PermissionService,
} from '@commonplace/proto/resources/v1/permission_service.js';
import { type Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  CreateResourceRequest,
  ListResourcesRequest,
  type ResourceService,
  UpdateResourceRequest,
} from '@commonplace/proto/resources/v1/resource_service.js';
import type { TrashService } from '@commonplace/proto/resources/v1/trash_service.js';
import { resources } from '../src/service.js';
import { type PlayedTenancy, playTenancy } from './tenancy.js';

type Metadata = Partial<CallMetadata>;

/** The resources service with fakes of identity and tenancy, and shortcuts for sharing. */
export interface SharingStage {
  readonly stage: Stage;
  readonly tenancy: PlayedTenancy;
  readonly resources: Client<ResourceService>;
  readonly permissions: Client<PermissionService>;
  readonly requests: Client<AccessRequestService>;
  readonly index: Client<IndexService>;
  readonly copies: Client<CopyService>;
  readonly trash: Client<TrashService>;
  /** All events of the service, in order; they may arrive with a delay. */
  readonly events: DomainEvent[];
  create(by: Caller, fields: Partial<CreateResourceRequest>): Promise<Resource>;
  update(by: Caller, id: string, fields: Partial<UpdateResourceRequest>): Promise<Resource>;
  get(by: Caller, id: string, metadata?: Metadata): Promise<Resource>;
  list(
    by: Caller,
    workspaceId: string,
    fields?: Partial<ListResourcesRequest>,
  ): Promise<{ ids: string[]; total: number }>;
  grant(
    by: Caller,
    id: string,
    fields: Partial<GrantPermissionRequest>,
    reply?: Reply,
  ): ReturnType<Client<PermissionService>['grantPermission']>;
  revoke(by: Caller, id: string, fields: Partial<DeletePermissionRequest>): Promise<{ id: string }>;
  view(
    by: Caller,
    id: string,
    fields?: Partial<GetPermissionsRequest>,
  ): ReturnType<Client<PermissionService>['getPermissions']>;
  ask(by: Caller, id: string, fields?: Partial<CreateAccessRequestRequest>, reply?: Reply): Promise<AccessRequest>;
  decide(by: Caller, id: string, fields: Partial<UpdateAccessRequestRequest>): Promise<AccessRequest>;
  /** Returns the number of resources that a workspace shows a person. */
  count(by: Caller, workspaceId: string): Promise<number>;
  filter(by: Caller, workspaceIds?: string[], metadata?: Metadata): ReturnType<Client<IndexService>['getSearchFilter']>;
  /** Publishes an event of tenancy, which invalidates caches of its data. */
  tell(verb: string, data?: Record<string, unknown>): Promise<void>;
}

/**
 * Opens the stage with its data in a new folder within `parent`, or in a given store, whose events are not delivered;
 * `others` are further fake services.
 */
export async function openSharingStage(
  parent?: string,
  others: readonly Implementation[] = [],
  store?: Store,
): Promise<SharingStage> {
  const tenancy = playTenancy();
  const stage = await openStage(resources, [...tenancy.implementations, ...others], parent, store);
  const { host } = stage;
  const as = signOnce(stage.as);
  const client = host.client(contracts.resources);
  const permissions = host.client(contracts.permissions);
  const requests = host.client(contracts.accessRequests);
  const index = host.client(contracts.index);
  const events: DomainEvent[] = [];
  const subscription = { consumer: 'heard', types: ['commonplace.resources.>'] };
  await host.bus.subscribe(subscription, async (some) => void events.push(...some));
  return {
    stage: { ...stage, as },
    tenancy,
    resources: client,
    permissions,
    requests,
    index,
    copies: host.client(contracts.copies),
    trash: host.client(contracts.trash),
    events,
    create: async (by, fields) =>
      client.createResource(
        CreateResourceRequest.fromPartial({ type: ResourceType.FOLDER, name: 'Untitled', ...fields }),
        await as(by),
      ),
    update: async (by, id, fields) =>
      client.updateResource(UpdateResourceRequest.fromPartial({ resourceId: id, ...fields }), await as(by)),
    get: async (by, id, metadata) =>
      client.getResource({ resourceId: id, include: [], includeTrashed: false }, await as(by, metadata)),
    async list(by, workspaceId, fields = {}) {
      const page = { limit: 200, offset: 0, cursor: '' };
      const request = ListResourcesRequest.fromPartial({ workspaceId, page, ...fields });
      const { items, page: shown } = await client.listResources(request, await as(by));
      return { ids: items.map(({ id }) => id).sort(), total: shown?.total ?? -1 };
    },
    grant: async (by, id, fields, reply) =>
      permissions.grantPermission(
        GrantPermissionRequest.fromPartial({ resourceId: id, ...fields }),
        await as(by, {}, reply),
      ),
    revoke: async (by, id, fields) =>
      permissions.deletePermission(DeletePermissionRequest.fromPartial({ resourceId: id, ...fields }), await as(by)),
    view: async (by, id, fields = {}) =>
      permissions.getPermissions(
        GetPermissionsRequest.fromPartial({ resourceId: id, page: { limit: 200, offset: 0, cursor: '' }, ...fields }),
        await as(by),
      ),
    ask: async (by, id, fields = {}, reply = {}) =>
      requests.createAccessRequest(
        CreateAccessRequestRequest.fromPartial({ resourceId: id, ...fields }),
        await as(by, {}, reply),
      ),
    decide: async (by, id, fields) =>
      requests.updateAccessRequest(UpdateAccessRequestRequest.fromPartial({ requestId: id, ...fields }), await as(by)),
    async count(by, workspaceId) {
      const { counts } = await index.countResources(
        { workspaceIds: [workspaceId], readableIds: [workspaceId] },
        await as(by),
      );
      return counts[workspaceId] ?? 0;
    },
    filter: async (by, workspaceIds = [], metadata = {}) =>
      index.getSearchFilter(GetSearchFilterRequest.fromPartial({ workspaceIds }), await as(by, metadata)),
    tell: (verb, data = {}) => host.bus.publish([tenancyEvent(verb, data)]),
  };
}

/** Reuses tokens for a while: signing and verifying one takes longer than most calls. */
function signOnce(sign: Stage['as']): Stage['as'] {
  const known = new WeakMap<Caller, { readonly token: string | undefined; readonly until: number }>();
  return async (caller, metadata = {}, reply = {}) => {
    const used = caller && known.get(caller);
    if (used === undefined || used.until < Date.now()) {
      const options = await sign(caller, metadata, reply);
      if (caller !== undefined) known.set(caller, { token: options.metadata.token, until: Date.now() + REUSED_MS });
      return options;
    }
    return {
      metadata: { requestId: newRequestId(), token: used.token, ...metadata },
      deadline: Date.now() + CALL_MS,
      reply,
    };
  };
}

const REUSED_MS = 15_000;

function tenancyEvent(verb: string, data: Record<string, unknown>): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/tenancy',
    type: `commonplace.tenancy.${verb}`,
    subject: newId(),
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data,
  };
}
