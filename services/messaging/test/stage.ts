import type { Caller } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/kit/contracts';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { fake, openStage, personCalled } from '@commonplace/kit/testing';
import {
  DeleteNotificationsRequest,
  ListNotificationsRequest,
  type NotificationService,
  UpdateNotificationsRequest,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { createMessaging } from '../src/service.js';

/** The messaging service with tenancy and resources played. */
export async function openTestStage() {
  const places = new Map<string, { orgs: OrgMembership[]; workspaces: WorkspaceMembership[] }>();
  /** Names of resources, by the person who reads them and their id. */
  const readable = new Map<string, string>();
  let ahead = 0;
  const directory = fake(contracts.directory, {
    getMemberships: async ({ userId }) => ({ userId, ...(places.get(userId) ?? { orgs: [], workspaces: [] }) }),
  });
  const index = fake(contracts.index, {
    checkAccess: async ({ ids }, { caller }) => ({
      resources: ids.flatMap((id) => {
        const name = readable.get(`${caller.userId}:${id}`);
        return name === undefined ? [] : [AccessibleResource.fromPartial({ id, name })];
      }),
    }),
  });
  const stage = await openStage(
    createMessaging(() => Date.now() + ahead),
    [directory, index],
  );
  const client: Client<NotificationService> = stage.host.client(contracts.notifications);
  const as = (caller: Caller): Promise<CallOptions> => stage.as(caller);
  return {
    stage,
    client,
    person: (name: string, tenant?: Caller['tenant']) => personCalled(name, [], tenant),
    /** Puts somebody into a workspace, of an Org where one is given. */
    join(userId: string, workspaceId: string, name: string, orgId = '') {
      const { orgs, workspaces } = places.get(userId) ?? { orgs: [], workspaces: [] };
      const org = orgId === '' ? [] : [OrgMembership.fromPartial({ orgId, name: `Org of ${name}` })];
      const workspace = WorkspaceMembership.fromPartial({ workspaceId, orgId, name });
      places.set(userId, { orgs: [...orgs, ...org], workspaces: [...workspaces, workspace] });
    },
    leaveAll: (userId: string) => places.delete(userId),
    show: (userId: string, id: string, name: string) => readable.set(`${userId}:${id}`, name),
    hide: (userId: string, id: string) => readable.delete(`${userId}:${id}`),
    wait: (ms: number) => {
      ahead += ms;
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

/** An event as a service would publish it, each a millisecond after the one before. */
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
