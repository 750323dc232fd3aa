import { describe, expect, test } from '@jest/globals';
import { personBehind } from '../src/domain/draft.js';
import { SOURCES } from '../src/domain/sources.js';
import { titleOf } from '../src/domain/titles.js';
import { eventOf } from './stage.js';

const of = (type: string, data: Record<string, unknown>, more = {}) =>
  SOURCES[`commonplace.${type}`]?.(eventOf(type, data, more));
const bob = { type: 'user', id: 'bob', name: 'Bob' };
const boss = { type: 'user', id: 'boss', name: 'Boss' };

describe('members', () => {
  const place = { workspaceId: 'w', userId: 'bob', addedByUserId: 'boss', role: 'editor' };

  test('an added person is notified, and the inviter of their acceptance', () => {
    const added = of('tenancy.workspace_member.added', place, { tenant: 'o', actor: boss });
    expect(added).toMatchObject([{ to: ['bob'], orgId: 'o', workspaceId: 'w', facts: { joined: false } }]);
    const joined = of('tenancy.workspace_member.added', place, { tenant: 'o', actor: bob });
    expect(joined).toMatchObject([{ to: ['boss'], facts: { joined: true } }]);
    expect(of('tenancy.workspace_member.added', place, { tenant: 'w', actor: boss })).toMatchObject([
      { orgId: undefined },
    ]);
  });

  test('people are not notified of a membership that they created themselves, or that is only offered', () => {
    expect(of('tenancy.workspace_member.added', { ...place, addedByUserId: 'bob' })).toEqual([]);
    const open = { orgId: 'o', userId: '', addedByUserId: 'boss', role: 'member', status: 'invited' };
    expect(of('tenancy.org_member.added', open)).toEqual([]);
    expect(of('tenancy.org_member.updated', { ...open, userId: 'bob' })).toEqual([]);
    expect(of('tenancy.org_member.updated', { ...open, userId: 'bob', joined: true }, { actor: bob })).toMatchObject([
      { to: ['boss'], target: { type: 'org', id: 'o' } },
    ]);
  });
});

test('administrators are notified of a key that was suspended', () => {
  const data = { keyId: 'k', userId: 'bob', orgId: 'o', name: 'CI', notifyUserIds: ['ada', 'boss'] };
  const [draft] = of('identity.api_key.suspended', data) ?? [];
  expect(draft).toMatchObject({ to: ['ada', 'boss'], orgId: 'o', target: { type: 'api_key', id: 'k' } });
  expect(titleOf('key_suspended', { actor: '', name: '', facts: draft?.facts ?? {} })).toBe(
    'The API key “CI” was suspended, because its person is no longer active in the Org',
  );
  expect(of('identity.api_key.suspended', { ...data, notifyUserIds: [] })).toEqual([]);
});

describe('usage', () => {
  const about = { notifyUserIds: ['ada', 'boss'], orgId: 'o', period: '2026-11' };

  test('administrators are notified of a threshold, of overage and of low credits, with the figures', () => {
    const [cap] =
      of(
        'tenancy.usage.alert',
        { ...about, about: 'monthly_cap', threshold: 80, used: '8', limit: '10' },
        { tenant: 'o' },
      ) ?? [];
    expect(cap).toMatchObject({
      ...{ type: 'usage_alert', to: ['ada', 'boss'], orgId: 'o', target: { type: 'usage', id: 'o' } },
      groupKey: 'usage:monthly_cap:2026-11',
    });
    const titleOfAlert = (draft = cap) => titleOf('usage_alert', { actor: '', name: '', facts: draft?.facts ?? {} });
    expect(titleOfAlert()).toBe('80% of the monthly usage cap is reached: 8 of 10 credits');
    const [overage] = of('tenancy.usage.alert', { ...about, about: 'overage', used: '1.5' }) ?? [];
    expect(titleOfAlert(overage)).toBe('More credits are used than there were: 1.5 beyond the balance this month');
    const [low] = of('tenancy.credits.low', { ...about, threshold: 80, available: '2', granted: '10' }) ?? [];
    expect(titleOfAlert(low)).toBe('80% of the credits are used: 2 of 10 are left');
    expect(low?.groupKey).not.toBe(cap?.groupKey);
  });

  test('in a Personal tenant the person is notified, without an Org', () => {
    const event = { ...about, orgId: '', notifyUserIds: ['ada'], about: 'overage' };
    expect(of('tenancy.usage.alert', event)).toMatchObject([{ to: ['ada'], orgId: undefined }]);
    expect(of('tenancy.usage.alert', { ...event, notifyUserIds: [] })).toEqual([]);
  });
});

describe('comments', () => {
  const comment = { resourceId: 'r', workspaceId: 'w', threadId: 't', commentId: 'c', actorId: 'bob' };

  test('a mentioned person is not notified of the reply as well', () => {
    const drafts = of('resources.comment.created', { ...comment, mentions: ['ada'], participants: ['ada', 'eve'] });
    expect(drafts).toMatchObject([
      { type: 'mention', to: ['ada'], groupKey: 'mention:r' },
      { type: 'comment_reply', to: ['eve'], groupKey: 'reply:t' },
    ]);
  });

  test('a change notifies people who are mentioned for the first time', () => {
    expect(of('resources.comment.updated', { ...comment, mentions: [], participants: ['ada'] })).toEqual([]);
    expect(of('resources.comment.updated', { ...comment, mentions: ['ada'] })).toMatchObject([{ type: 'mention' }]);
  });

  test('a resolved thread notifies its participants', () => {
    expect(of('resources.comment.resolved', { ...comment, participants: ['ada'] })).toMatchObject([
      { type: 'comment_resolved', to: ['ada'], target: { type: 'resource', id: 'r' } },
    ]);
  });

  test('a malformed event notifies no one', () => {
    expect(of('resources.comment.created', { mentions: 'ada', participants: [1, null, ''] })).toEqual([]);
    expect(of('resources.permission.granted', { notify: true })).toEqual([]);
  });
});

describe('sharing', () => {
  const grant = { resourceId: 'r', workspaceId: 'w', principal: 'user:ada', role: 'viewer', notify: true };

  test('the grantee of a role is notified, unless the request suppresses it', () => {
    expect(of('resources.permission.granted', { ...grant, message: 'Look' })).toMatchObject([
      { type: 'resource_shared', to: ['ada'], facts: { message: 'Look', role: 'viewer' } },
    ]);
    expect(of('resources.permission.granted', { ...grant, notify: false })).toEqual([]);
    expect(of('resources.permission.granted', { ...grant, principal: 'org:o' })).toEqual([]);
  });

  test('a request notifies people who can grant it, and its decision the requester', () => {
    const request = { ...grant, requesterId: 'ada', notifyUserIds: ['boss', 'eve'], status: 'pending' };
    expect(of('resources.access_request.created', request)).toMatchObject([
      { type: 'access_requested', to: ['boss', 'eve'], groupKey: 'access:ada:r' },
    ]);
    const decided = { ...request, notifyUserIds: ['ada'] };
    expect(of('resources.access_request.decided', { ...decided, status: 'denied' })).toMatchObject([
      { type: 'access_decided', to: ['ada'], facts: { approved: false } },
    ]);
    expect(of('resources.access_request.decided', { ...decided, status: 'canceled' })).toEqual([]);
  });
});

test('the person behind an actor', () => {
  expect(personBehind(eventOf('a.b.c', {}, { actor: bob }))).toBe('bob');
  expect(personBehind(eventOf('a.b.c', {}, { actor: { type: 'api_key', id: 'k', name: '', person: 'bob' } }))).toBe(
    'bob',
  );
  expect(personBehind(eventOf('a.b.c', { actorId: 'ada' }, { actor: bob }))).toBe('ada');
  expect(personBehind(eventOf('a.b.c', {}, { actor: { type: 'system', id: 'tenancy', name: '' } }))).toBeUndefined();
});

test('titles name the target if its name may be shown', () => {
  const facts = {};
  expect(titleOf('mention', { actor: 'Ada', name: 'Plan', facts })).toBe('Ada mentioned you in “Plan”');
  expect(titleOf('mention', { actor: 'Ada', name: undefined, facts })).toBe('Ada mentioned you');
  expect(titleOf('resource_shared', { actor: '', name: undefined, facts })).toBe('Somebody shared something with you');
  expect(titleOf('access_decided', { actor: 'Ada', name: 'Plan', facts: { approved: true } })).toBe(
    'Your request for access to “Plan” was approved',
  );
  expect(titleOf('member_added', { actor: 'Ada', name: 'Acme', facts: { joined: true } })).toBe(
    'Ada has joined “Acme”',
  );
  const key = { name: 'CI', daysLeft: 3 };
  expect(titleOf('key_expiring', { actor: '', name: '', facts: { key } })).toBe('The API key “CI” expires in 3 days');
});
