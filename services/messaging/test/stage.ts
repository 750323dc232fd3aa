import type { Caller } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import { NotFound, Unavailable } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import {
  DeleteNotificationsRequest,
  ListNotificationsRequest,
  type NotificationService,
  UpdateNotificationsRequest,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import { AccessibleResource, IndexEntry, ReadResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import {
  OrgMembership,
  WorkspaceMembership,
  WorkspaceSummary,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { openAuditLimits } from '../src/audit/limits.js';
import { auditCollection } from '../src/audit/records.js';
import { config } from '../src/config.js';
import { createMessaging } from '../src/service.js';

const NO_ROLE = ResourceRole.UNSPECIFIED;

/** Opens the messaging service with fake tenancy and resources services. */
export async function openTestStage() {
  const places = new Map<string, { orgs: OrgMembership[]; workspaces: WorkspaceMembership[] }>();
  /** Names of resources, by the id of their reader and their own. */
  const readable = new Map<string, string>();
  /** Workspace ids by resource id. */
  const workspaceIds = new Map<string, string>();
  const roles = new Map<string, ResourceRole>();
  const trashed = new Set<string>();
  /** People who hold a grant in a workspace without being members. */
  const visitors = new Set<string>();
  /** The questions about people's access. */
  const checks: { resourceIds: readonly string[]; userIds: readonly string[] }[] = [];
  /** The names of work items, automations and schedules that each person can see, by `<person>:<id>`. */
  const work = new Map<string, string>();
  let isWorkAway = false;
  let ahead = 0;
  let stoppedAt: number | undefined;
  const now = () => stoppedAt ?? Date.now() + ahead;
  const directory = fake(contracts.directory, {
    getMemberships: async ({ userId }) => ({
      userId,
      groups: [],
      ...(places.get(userId) ?? { orgs: [], workspaces: [] }),
    }),
    lookUpWorkspace: async ({ workspaceId }) => {
      const all = [...places.values()].flatMap(({ workspaces }) => workspaces);
      const found = all.find((one) => one.workspaceId === workspaceId);
      if (found === undefined) throw NotFound();
      return WorkspaceSummary.fromPartial({ workspaceId, orgId: found.orgId });
    },
  });
  const workDirectory = fake(contracts.workDirectory, {
    lookUpWork: async ({ workItemIds, automationIds, scheduleIds }, { caller }) => {
      if (isWorkAway) throw Unavailable();
      const entriesOf = (ids: readonly string[]) =>
        ids.flatMap((id) => {
          const name = work.get(`${caller.userId}:${id}`);
          return name === undefined ? [] : [{ id, name }];
        });
      return {
        workItems: entriesOf(workItemIds),
        automations: entriesOf(automationIds),
        schedules: entriesOf(scheduleIds),
      };
    },
  });
  const index = fake(contracts.index, {
    getIndexStates: async ({ ids }) => ({
      entries: ids.flatMap((id) => {
        const workspaceId = workspaceIds.get(id);
        return workspaceId === undefined ? [] : [IndexEntry.fromPartial({ id, workspaceId })];
      }),
      leftIds: [],
    }),
    checkReaders: async ({ resourceIds, userIds }) => {
      checks.push({ resourceIds, userIds });
      const resources = resourceIds.flatMap((id) => {
        const workspaceId = workspaceIds.get(id);
        return workspaceId === undefined
          ? []
          : [ReadResource.fromPartial({ id, workspaceId, trashed: trashed.has(id) })];
      });
      const roleOf = (userId: string, id: string) =>
        readable.has(`${userId}:${id}`) ? (roles.get(`${userId}:${id}`) ?? ResourceRole.VIEWER) : NO_ROLE;
      const readers = userIds.map((userId) => ({
        roles: resources.map(({ id }) => roleOf(userId, id)),
        entersWorkspace: visitors.has(userId),
      }));
      return { resources, readers };
    },
    checkAccess: async ({ ids }, { caller }) => ({
      resources: ids.flatMap((id) => {
        const name = readable.get(`${caller.userId}:${id}`);
        return name === undefined ? [] : [AccessibleResource.fromPartial({ id, name })];
      }),
    }),
  });
  const stage = await openStage(createMessaging(now), [directory, index, workDirectory]);
  const client: Client<NotificationService> = stage.host.client(contracts.notifications);
  const as = (caller: Caller): Promise<CallOptions> => stage.as(caller);
  return {
    stage,
    client,
    person: (name: string, tenant?: Caller['tenant']) => personCalled(name, [], tenant),
    /** Adds somebody to a workspace, and to its Org if one is given. */
    join(userId: string, workspaceId: string, name: string, orgId = '', role = OrgRole.MEMBER) {
      const { orgs, workspaces } = places.get(userId) ?? { orgs: [], workspaces: [] };
      const org = orgId === '' ? [] : [OrgMembership.fromPartial({ orgId, role, name: `Org of ${name}` })];
      const workspace = WorkspaceMembership.fromPartial({ workspaceId, orgId, name });
      places.set(userId, { orgs: [...orgs, ...org], workspaces: [...workspaces, workspace] });
    },
    /** Sets the workspace of a resource. */
    setWorkspace: (id: string, workspaceId: string) => workspaceIds.set(id, workspaceId),
    /** Returns the dependencies for recording audit events, on the same store. */
    async auditParts() {
      const { store, log, bus, systemCall, client: clientOf } = stage.own;
      const settings = readConfig(config, {});
      const auditEvents = await store.collection(auditCollection);
      return {
        settings,
        log,
        store,
        auditEvents,
        auditLimits: await openAuditLimits({ settings, store, auditEvents, now }),
        memberships: await createMembershipCache(clientOf(contracts.directory), bus),
        systemCall,
      };
    },
    checks,
    trash: (id: string) => trashed.add(id),
    giveRole: (userId: string, id: string, role: ResourceRole) => roles.set(`${userId}:${id}`, role),
    visit: (userId: string) => visitors.add(userId),
    leaveAll: (userId: string) => places.delete(userId),
    endVisit: (userId: string) => visitors.delete(userId),
    show: (userId: string, id: string, name: string) => readable.set(`${userId}:${id}`, name),
    hide: (userId: string, id: string) => readable.delete(`${userId}:${id}`),
    /** Lets a person see a work item, an automation or a schedule; without a name, no longer. */
    showWork: (userId: string, id: string, name?: string) =>
      name === undefined ? work.delete(`${userId}:${id}`) : work.set(`${userId}:${id}`, name),
    /** Makes the automations service unavailable, or available again. */
    setWorkAway: (isAway: boolean) => {
      isWorkAway = isAway;
    },
    wait: (ms: number) => {
      ahead += ms;
    },
    now,
    /** Stops the clock of the service. */
    stop() {
      stoppedAt = now();
    },
    go() {
      stoppedAt = undefined;
    },
    list: async (caller: Caller, fields: Partial<ListNotificationsRequest> = {}) =>
      client.listNotifications(
        { ...ListNotificationsRequest.fromPartial({}), page: { limit: 50, offset: 0, cursor: '' }, ...fields },
        await as(caller),
      ),
    update: async (caller: Caller, fields: Partial<UpdateNotificationsRequest>) =>
      client.updateNotifications({ ...UpdateNotificationsRequest.fromPartial({}), ...fields }, await as(caller)),
    remove: async (caller: Caller, fields: Partial<DeleteNotificationsRequest>) =>
      client.deleteNotifications({ ...DeleteNotificationsRequest.fromPartial({}), ...fields }, await as(caller)),
    publish: (...events: DomainEvent[]) => stage.host.bus.publish(events),
    close: () => stage.close(),
  };
}

export type TestStage = Awaited<ReturnType<typeof openTestStage>>;

let time = Date.now();

/** Returns an event as a service publishes it. Each is a millisecond later than the one before. */
export function eventOf(
  type: string,
  data: Record<string, unknown>,
  more: { tenant?: string; actor?: DomainEvent['actor'] } = {},
): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: `/${type.split('.')[0]}`,
    type: `commonplace.${type}`,
    subject: newId(),
    time: new Date(++time).toISOString(),
    datacontenttype: 'application/json',
    data,
    ...more,
  };
}

export function actor({ userId, userName }: Caller): DomainEvent['actor'] {
  return { type: 'user', id: userId, name: userName };
}
