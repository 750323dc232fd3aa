import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { removeExpired } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import {
  NotificationState,
  NotificationTargetType,
  NotificationType,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationCollection, seenEventCollection } from '../src/notifications/records.js';
import { takeIn } from '../src/notifications/write.js';
import { actor, eventOf, openTestStage, type TestStage } from './stage.js';

let stage: TestStage;
let ada: Caller;
let bob: Caller;
beforeAll(async () => {
  process.env.COMMONPLACE_PUBLIC_URL = 'https://wiki.example.com';
  process.env.COMMONPLACE_NOTIFICATIONS_PER_PERSON = '20';
  stage = await openTestStage();
});
afterAll(async () => {
  delete process.env.COMMONPLACE_PUBLIC_URL;
  delete process.env.COMMONPLACE_NOTIFICATIONS_PER_PERSON;
  await stage.close();
});

const orgId = newId();
const workspaceId = newId();
beforeEach(() => {
  ada = stage.person('Ada', { orgId });
  bob = stage.person('Bob', { orgId });
  stage.join(ada.userId, workspaceId, 'Plans', orgId);
});

function shared(resourceId: string, more: Record<string, unknown> = {}, by: Caller = bob) {
  const data = { resourceId, workspaceId, principal: `user:${ada.userId}`, role: 'viewer', notify: true, ...more };
  return eventOf('resources.permission.granted', data, { tenant: orgId, actor: actor(by) });
}
const arrived = (count: number, caller = ada) =>
  eventually(async () => {
    const listed = await stage.list(caller);
    expect(listed.page?.total).toBe(count);
    return listed;
  });

test('a person is notified who shared what with them, and where it is', async () => {
  const id = newId();
  stage.show(ada.userId, id, 'Roadmap');
  await stage.publish(shared(id, { message: 'Please read' }));
  const { items, unreadCount } = await arrived(1);
  expect(unreadCount).toBe(1);
  expect(items).toMatchObject([
    {
      type: NotificationType.RESOURCE_SHARED,
      title: 'Bob shared “Roadmap” with you',
      body: 'Please read',
      actor: { id: bob.userId, name: 'Bob' },
      target: {
        type: NotificationTargetType.RESOURCE,
        id,
        workspaceId,
        url: `https://wiki.example.com/api/v1/resources/${id}`,
      },
      isRead: false,
      isArchived: false,
      count: 1,
    },
  ]);
  expect(await stage.list(bob)).toMatchObject({ items: [], unreadCount: 0 });
});

test('a target without access is no longer named', async () => {
  const id = newId();
  stage.show(ada.userId, id, 'Roadmap');
  const place = { workspaceId, userId: ada.userId, addedByUserId: bob.userId, role: 'ROLE' };
  await stage.publish(
    shared(id, { message: 'The roadmap of Roadmap' }),
    eventOf('tenancy.workspace_member.added', place, { tenant: orgId, actor: actor(bob) }),
  );
  const before = await arrived(2);
  expect(before.items.map(({ title }) => title)).toEqual(['Bob added you to “Plans”', 'Bob shared “Roadmap” with you']);
  stage.hide(ada.userId, id);
  stage.leaveAll(ada.userId);
  const after = await eventually(async () => {
    const listed = await stage.list(ada);
    expect(JSON.stringify(listed)).not.toMatch(/Roadmap|Plans/);
    return listed;
  });
  expect(after.items.map(({ target, body }) => [target, body])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

test('an approval says what it is about only to people who can read that', async () => {
  const id = newId();
  stage.show(ada.userId, id, 'Salaries');
  const about = { orgId, workspaceId, notifyUserIds: [ada.userId, bob.userId], title: 'Comment on “Salaries”' };
  await stage.publish(
    eventOf('agents.agent_approval.requested', { ...about, resourceIds: [id] }, { tenant: orgId, actor: actor(bob) }),
  );
  expect((await arrived(1)).items).toMatchObject([
    { title: 'Bob asks for your approval', body: 'Comment on “Salaries”', target: { url: expect.any(String) } },
  ]);
  stage.hide(ada.userId, id);
  await eventually(async () => {
    const { items } = await stage.list(ada);
    expect(items).toMatchObject([{ title: 'Bob asks for your approval', target: { url: expect.any(String) } }]);
    expect(items[0]?.body).toBeUndefined();
  });
});

test('a denied request gives the reason, and does not name the target', async () => {
  const id = newId();
  const decided = { resourceId: id, workspaceId, notifyUserIds: [ada.userId], status: 'denied', message: 'Not yet' };
  await stage.publish(
    eventOf('resources.access_request.decided', decided, { tenant: orgId, actor: actor(bob) }),
    eventOf(
      'resources.access_request.decided',
      { ...decided, resourceId: newId(), status: 'approved' },
      {
        tenant: orgId,
        actor: actor(bob),
      },
    ),
  );
  expect((await arrived(2)).items.map(({ title, body, target }) => [title, body, target])).toEqual([
    ['Your request for access was approved', undefined, undefined],
    ['Your request for access was denied', 'Not yet', undefined],
  ]);
});

test('people are not notified of their own actions, not even by a key', async () => {
  const byKey = { ...shared(newId()), actor: { type: 'api_key', id: newId(), name: 'CI', person: ada.userId } };
  const id = newId();
  await stage.publish(shared(newId(), {}, ada), byKey, shared(id));
  expect((await arrived(1)).items[0]?.groupKey).toBe(`shared:${id}`);
});

test('unread notifications of one kind are merged; a read one is left alone', async () => {
  const id = newId();
  await stage.publish(shared(id), shared(id), shared(id));
  const { items } = await eventually(async () => {
    const listed = await stage.list(ada);
    expect(listed.items.map(({ count }) => count)).toEqual([3]);
    return listed;
  });
  await stage.update(ada, { ids: [items[0]?.id ?? ''], isRead: true });
  await stage.publish(shared(id));
  expect((await arrived(2)).items.map(({ count, isRead }) => [count, isRead])).toEqual([
    [1, false],
    [3, true],
  ]);
  expect(await stage.update(ada, { all: true, isRead: false })).toEqual({ updatedCount: 1, unreadCount: 2 });
});

describe('tenants', () => {
  test('a credential lists its own tenant, or that of a workspace', async () => {
    const home = newId();
    stage.join(ada.userId, home, 'Home');
    const personal = { ...shared(newId(), { workspaceId: home }), tenant: home };
    await stage.publish(personal, shared(newId()));
    await arrived(1);
    const { tenant: _, ...session } = ada;
    await arrived(1, { ...session, tenant: { orgId: null } });
    await arrived(1, session);
    const inOrg = await stage.list(session, { workspaceId });
    expect(inOrg.items.map(({ target, groupKey }) => [target, groupKey.split(':')[0]])).toEqual([
      [undefined, 'shared'],
    ]);
    expect((await stage.list(session, { workspaceId: home })).page?.total).toBe(1);
    await expect(stage.list(ada, { workspaceId: home })).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await expect(stage.list(ada, { workspaceId: newId() })).rejects.toMatchObject({ reason: 'not_found' });
    expect((await stage.list({ ...ada, tenant: { orgId: newId() } })).page?.total).toBe(0);
  });

  test('somebody who is not a member of a workspace lists what was shared with them there', async () => {
    const other = newId();
    await stage.publish(shared(newId(), { workspaceId: other }), shared(newId()));
    await arrived(2);
    const { tenant: _, ...session } = ada;
    for (const caller of [ada, session]) {
      expect((await stage.list(caller, { workspaceId: other })).page?.total).toBe(1);
    }
    const elsewhere = { ...ada, tenant: { orgId: null } };
    await expect(stage.list(elsewhere, { workspaceId: other })).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await expect(stage.list(bob, { workspaceId: other })).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('a credential limited to workspaces sees and changes only theirs', async () => {
    const other = newId();
    await stage.publish(shared(newId()), shared(newId(), { workspaceId: other }));
    const { items } = await arrived(2);
    const limited: Caller = { ...ada, credential: { ...ada.credential, workspaceIds: [workspaceId] } };
    expect((await stage.list(limited)).page?.total).toBe(1);
    const ids = items.map(({ id }) => id);
    expect(await stage.update(limited, { ids, isRead: true })).toEqual({ updatedCount: 1, unreadCount: 0 });
    expect(await stage.remove(limited, { all: true })).toEqual({ deletedCount: 1, unreadCount: 0 });
    expect((await stage.list(ada)).page?.total).toBe(1);
  });
});

describe('lists', () => {
  test('filter by state and type, and page with the newest first', async () => {
    const ids = Array.from({ length: 5 }, () => newId());
    await stage.publish(...ids.map((id) => shared(id)));
    const { items } = await arrived(5);
    expect(items.map(({ groupKey }) => groupKey)).toEqual(ids.map((id) => `shared:${id}`).reverse());
    await stage.update(ada, { ids: items.slice(0, 2).map(({ id }) => id), isRead: true });
    await stage.update(ada, { ids: items.slice(1, 3).map(({ id }) => id), isArchived: true });
    const count = async (state: NotificationState, type = NotificationType.UNSPECIFIED) =>
      (await stage.list(ada, { state, type })).page?.total;
    expect(await count(NotificationState.ALL)).toBe(5);
    expect(await count(NotificationState.UNREAD)).toBe(2);
    expect(await count(NotificationState.READ)).toBe(1);
    expect(await count(NotificationState.ARCHIVED)).toBe(2);
    expect(await count(NotificationState.ALL, NotificationType.RESOURCE_SHARED)).toBe(5);
    expect(await count(NotificationState.ALL, NotificationType.MENTION)).toBe(0);
    const first = await stage.list(ada, { page: { limit: 2, offset: 0, cursor: '' } });
    const rest = await stage.list(ada, { page: { limit: 9, offset: 0, cursor: first.page?.nextCursor ?? '' } });
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(items.map(({ id }) => id));
    expect(first.page).toMatchObject({ hasMore: true, nextOffset: 2, total: 5 });
    const cursor = Buffer.from('[1,2]').toString('base64url');
    const wrong = stage.list(ada, { page: { limit: 9, offset: 0, cursor } });
    await expect(wrong).rejects.toMatchObject({ reason: 'invalid_pagination' });
  });
});

describe('changes', () => {
  test('skip ids of other people, and count only actual changes', async () => {
    await stage.publish(shared(newId()), shared(newId()));
    const { items } = await arrived(2);
    const ids = [...items.map(({ id }) => id), newId()];
    expect(await stage.update(bob, { ids, isRead: true })).toEqual({ updatedCount: 0, unreadCount: 0 });
    expect(await stage.remove(bob, { ids })).toEqual({ deletedCount: 0, unreadCount: 0 });
    expect(await stage.update(ada, { ids, isRead: true })).toEqual({ updatedCount: 2, unreadCount: 0 });
    expect(await stage.update(ada, { ids, isRead: true })).toEqual({ updatedCount: 0, unreadCount: 0 });
    expect((await stage.list(ada)).items.every(({ isRead, readAt }) => isRead && readAt !== undefined)).toBe(true);
    expect(await stage.remove(ada, { ids: ids.slice(0, 1) })).toEqual({ deletedCount: 1, unreadCount: 0 });
    expect((await stage.list(ada)).items.map(({ id }) => id)).toEqual([ids[1]]);
  });

  test('apply to all, or to all before a time', async () => {
    await stage.publish(shared(newId()), shared(newId()), shared(newId()));
    const { items } = await arrived(3);
    const before = items[0]?.createdAt;
    expect(await stage.update(ada, { all: true, before, isRead: true })).toEqual({ updatedCount: 2, unreadCount: 1 });
    expect(await stage.update(ada, { all: true, isArchived: true })).toEqual({ updatedCount: 3, unreadCount: 0 });
    expect(await stage.remove(ada, { all: true, before })).toEqual({ deletedCount: 2, unreadCount: 0 });
    expect(await stage.remove(ada, { all: true })).toEqual({ deletedCount: 1, unreadCount: 0 });
  });

  test.each([
    [{ isRead: true }, 'missing_target'],
    [{ all: true, ids: [newId()], isRead: true }, 'ambiguous_target'],
    [{ ids: [newId()], before: '2026-01-01T00:00:00.000Z', isRead: true }, 'invalid_value'],
    [{ all: true }, 'no_update_field'],
  ])('refuse %j', async (fields, reason) => {
    await expect(stage.update(ada, fields)).rejects.toMatchObject({ reason });
  });

  test('report what was deleted', async () => {
    await expect(stage.remove(ada, {})).rejects.toMatchObject({ reason: 'missing_target' });
  });
});

describe('an incoming event', () => {
  /** Returns the service's dependencies, to run by hand what its consumer and its job do. */
  async function parts() {
    const { store } = stage.stage.host;
    return {
      settings: { publicUrl: '', notificationsPerPerson: 20 },
      store,
      notifications: await store.collection(notificationCollection),
      seenEvents: await store.collection(seenEventCollection),
      users: undefined as never,
      memberships: undefined as never,
      mailer: { available: false } as never,
      mailLimit: undefined as never,
      systemCall: () => stage.stage.host.systemCall(),
      now: () => Date.now() + ahead,
    };
  }
  let ahead = 0;
  const inbox = () => ({ inbox: `${ada.userId}:${orgId}` });

  test('is counted once, however often and in whatever batch it arrives', async () => {
    const own = await parts();
    const id = newId();
    const event = shared(id);
    await Promise.all([takeIn(own, event), takeIn(own, event), takeIn(own, shared(id)), takeIn(own, shared(id))]);
    await takeIn(own, event);
    const found = await own.notifications.find({ where: inbox(), limit: 9 });
    expect(found.map(({ count }) => count)).toEqual([3]);
  });

  test('replaces the oldest notification in a full inbox', async () => {
    const own = await parts();
    const ids = Array.from({ length: 23 }, () => newId());
    for (const id of ids) await takeIn(own, shared(id));
    const kept = await own.notifications.find({ where: inbox(), sort: ['at'], limit: 99 });
    expect(kept.map(({ groupKey }) => groupKey)).toEqual(ids.slice(3).map((id) => `shared:${id}`));
  });

  test('expires, earlier if it was read', async () => {
    const own = await parts();
    await takeIn(own, shared(newId()));
    await takeIn(own, shared(newId()));
    const [one, two] = await own.notifications.find({ where: inbox(), limit: 9 });
    const work = own.store.begin();
    const soon = new Date(Date.now() + 90 * 86_400_000).toISOString();
    if (one !== undefined) work.replace(own.notifications, one, { ...one, state: 'read', expiresAt: soon });
    await work.commit();
    ahead = 91 * 86_400_000;
    expect(await removeExpired(own.store, new Date(Date.now() + ahead).toISOString())).toBeGreaterThanOrEqual(3);
    const left = await own.notifications.find({ where: inbox(), limit: 9 });
    expect(left.map(({ id }) => id)).toEqual([two?.id]);
  });

  test('is deleted with its Org', async () => {
    const other = newId();
    await stage.publish(shared(newId()), { ...shared(newId()), tenant: other });
    await arrived(1);
    await arrived(1, { ...ada, tenant: { orgId: other } });
    await stage.publish(eventOf('tenancy.org.purged', { orgId: other }, { tenant: other }));
    await arrived(0, { ...ada, tenant: { orgId: other } });
    await arrived(1);
  });

  test('every query uses an index', async () => {
    const { notifications, seenEvents } = await parts();
    const queries = [
      { where: { openKey: 'x' } },
      { where: inbox(), sort: ['-at'] },
      { where: { ...inbox(), state: 'unread' }, sort: ['-at'] },
      { where: { ...inbox(), state: 'unread', type: 'mention', workspaceId: { in: ['a', 'b'] } }, sort: ['-at'] },
      { where: { ...inbox(), type: 'mention' }, sort: ['-at'] },
      { where: { ...inbox(), at: { lt: 'x' } } },
      { where: inbox(), sort: ['at'] },
      { where: { tenant: 'x' } },
      { where: { expiresAt: { lte: 'x' } } },
    ] as const;
    for (const query of queries) {
      const { indexed, plan } = await notifications.explain({ ...query, limit: 5 } as never);
      expect([plan, indexed]).toEqual([plan, true]);
    }
    const { indexed } = await seenEvents.explain({ where: { expiresAt: { lte: 'x' } }, limit: 5 });
    expect(indexed).toBe(true);
  });
});
