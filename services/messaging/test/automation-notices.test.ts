import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { NotificationTargetType, NotificationType } from '@commonplace/proto/messaging/v1/notification_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { automationNotice, lineOf, MAX_BODY, MAX_TITLE } from '../src/domain/automations.js';
import { eventOf, openTestStage, type TestStage } from './stage.js';

let stage: TestStage;
let ada: Caller;
let orgId: string;
let workspaceId: string;

beforeAll(async () => {
  process.env.COMMONPLACE_PUBLIC_URL = 'https://wiki.example.com';
  stage = await openTestStage();
});
afterAll(async () => {
  delete process.env.COMMONPLACE_PUBLIC_URL;
  await stage.close();
});
beforeEach(() => {
  [orgId, workspaceId] = [newId(), newId()];
  ada = stage.person('Ada', { orgId });
  stage.join(ada.userId, workspaceId, 'Plans', orgId);
});

const automation = (by: Caller) => ({ type: 'automation', id: newId(), name: 'Tidy up', person: by.userId }) as const;

const automationEvent = (type: string, data: object, by = automation(ada)) =>
  eventOf(`automations.${type}`, { workspaceId, ...data }, { tenant: orgId, actor: by });

const arrived = (count: number, caller = ada) =>
  eventually(async () => {
    const listed = await stage.list(caller);
    expect(listed.page?.total).toBe(count);
    return listed.items;
  }, 20_000);

test('the assignee of a work item is notified, with the author and the place', async () => {
  const by = { type: 'user', id: newId(), name: 'Bob' } as const;
  const event = automationEvent('work_item.updated', { title: 'Review', assignedUserIds: [ada.userId] }, by as never);
  stage.showWork(ada.userId, event.subject, 'Review');
  await stage.publish(event);
  const [item] = await arrived(1);
  expect(item).toMatchObject({ type: NotificationType.WORK_ITEM_ASSIGNED, title: 'Bob assigned “Review” to you' });
  expect(item?.target).toEqual({
    ...{ type: NotificationTargetType.WORK_ITEM, id: event.subject, workspaceId },
    url: `https://wiki.example.com/api/v1/work-items/${event.subject}`,
  });
  const shown = async () => (await stage.list(ada)).items.map(({ title, target }) => [title, target?.id]);
  stage.showWork(ada.userId, event.subject, 'Proof\nread');
  expect(await shown()).toEqual([['Bob assigned “Proof read” to you', event.subject]]);
  stage.setWorkAway(true);
  expect(await shown()).toEqual([['Bob assigned a work item to you', undefined]]);
  stage.setWorkAway(false);
  stage.showWork(ada.userId, event.subject);
  expect(await shown()).toEqual([['Bob assigned a work item to you', undefined]]);
});

test('failures of an automation are counted together, and its deactivation is a separate notification', async () => {
  const automationId = newId();
  const failed = (disabled: boolean) =>
    automationEvent('automation_run.failed', {
      ...{ automationId, automationName: 'Tidy up', status: 'failed', disabled, notifyUserIds: [ada.userId] },
    });
  stage.showWork(ada.userId, automationId, 'Tidy up');
  await stage.publish(failed(false), failed(false), failed(true));
  const items = await eventually(async () => {
    const found = await arrived(2);
    expect(found.map(({ count }) => count).sort()).toEqual([1, 2]);
    return found;
  }, 20_000);
  expect(items.map(({ title }) => title).sort()).toEqual([
    'The automation “Tidy up” has failed',
    'The automation “Tidy up” has failed too often and was switched off',
  ]);
  expect(items[0]?.target).toMatchObject({ type: NotificationTargetType.AUTOMATION, id: automationId });
});

test('a paused schedule notifies the people responsible for it', async () => {
  const event = automationEvent('schedule.paused', { reason: 'failures', notifyUserIds: [ada.userId] });
  stage.showWork(ada.userId, event.subject, 'Nightly');
  await stage.publish(event);
  const [item] = await arrived(1);
  expect(item).toMatchObject({ type: NotificationType.SCHEDULE_PAUSED, title: 'The schedule “Nightly” was paused' });
});

describe('a notification by an automation', () => {
  const notice = (data: object) =>
    automationEvent('notification.requested', { automationId: newId(), automationName: 'Tidy up', ...data });

  test('reaches only members of its workspace, including its own person', async () => {
    const stranger = stage.person('Eve', { orgId });
    const userIds = [ada.userId, stranger.userId];
    const automationId = newId();
    await stage.publish(notice({ automationId, title: 'Done', body: 'All *is* done.', userIds }));
    const [item] = await arrived(1);
    const shown = { type: NotificationType.AUTOMATION_NOTICE, title: 'Done', body: 'All *is* done.' };
    expect(item).toMatchObject({ ...shown, actor: { name: 'Tidy up' }, target: undefined });
    stage.showWork(ada.userId, automationId, 'Tidy up');
    const [linked] = (await stage.list(ada)).items;
    expect(linked).toMatchObject({ ...shown, target: { type: NotificationTargetType.AUTOMATION, id: automationId } });
    expect((await stage.list(stranger)).items).toEqual([]);
  });

  test('links to a resource, and shows nothing of what its reader cannot see', async () => {
    const [open, secret] = [newId(), newId()];
    stage.show(ada.userId, open, 'Roadmap');
    const to = { userIds: [ada.userId], title: 'Look at Roadmap', body: 'words' };
    await stage.publish(notice({ ...to, resourceId: open }), notice({ ...to, resourceId: secret }));
    const items = await arrived(2);
    expect(items.find(({ target }) => target?.id === open)).toMatchObject({ title: 'Look at Roadmap', body: 'words' });
    expect(items.find(({ target }) => target === undefined)).toMatchObject({
      ...{ title: 'An automation has a notice for you', body: undefined },
    });
  });

  test('is one line of visible characters, with a limited length', () => {
    expect(lineOf('a\r\n\u202Eb\t c\u0000\u{E0041}')).toBe('a b c');
    expect(lineOf('👩‍💻 e\u0301')).toBe('👩‍💻 e\u0301');
    expect([...lineOf('😀'.repeat(300))]).toHaveLength(MAX_TITLE);
    const [draft] = automationNotice(notice({ title: 't', body: `a\u202E\nb${'x'.repeat(5_000)}`, userIds: ['u'] }));
    expect(draft?.facts.message).toHaveLength(MAX_BODY);
    expect(draft?.facts.message?.slice(0, 3)).toBe('a\nb');
  });
});
