import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { homeOf, newId } from '@commonplace/kit/id';
import type { CallMetadata } from '@commonplace/kit/rpc';
import { removeExpired } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { AuditOutcome, Denial, ListAuditEventsRequest } from '@commonplace/proto/messaging/v1/audit_event_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { AUDITED, outcomeOf } from '../src/audit/sources.js';
import { actor, eventOf, openTestStage, type TestStage } from './stage.js';

let stage: TestStage;
let admin: Caller;
let member: Caller;
let orgId: string;
const workspaceId = newId();

beforeAll(async () => {
  process.env.COMMONPLACE_AUDIT_DENIALS_PER_HOUR = '12';
  stage = await openTestStage();
});
afterAll(async () => {
  delete process.env.COMMONPLACE_AUDIT_DENIALS_PER_HOUR;
  await stage.close();
});
beforeEach(() => {
  orgId = newId();
  admin = stage.person('Ada');
  member = stage.person('Bob');
  stage.join(admin.userId, workspaceId, 'Plans', orgId, OrgRole.ADMIN);
  stage.join(member.userId, workspaceId, 'Plans', orgId, OrgRole.MEMBER);
});

const log = () => stage.stage.host.client(contracts.auditEvents);
const read = async (
  caller: Caller,
  fields: Partial<ListAuditEventsRequest> = {},
  page = { limit: 50, offset: 0, cursor: '' },
  metadata: Partial<CallMetadata> = {},
) =>
  log().listAuditEvents(
    { ...ListAuditEventsRequest.fromPartial({}), page, ...fields },
    await stage.stage.as(caller, metadata),
  );
const arrived = (count: number, caller = admin, fields: Partial<ListAuditEventsRequest> = { orgId }) =>
  eventually(async () => {
    const listed = await read(caller, fields);
    expect(listed.items).toHaveLength(count);
    return listed.items;
  });

function granted(resourceId: string, more: Partial<DomainEvent> = {}) {
  const data = { resourceId, workspaceId, principal: `user:${newId()}`, role: 'editor', message: 'psst', notify: true };
  return { ...eventOf('resources.permission.granted', data, { tenant: orgId, actor: actor(member) }), ...more };
}

test('records who did what with which credential from where, and no text', async () => {
  const id = newId();
  const credential = { type: 'session', id: 'session-1' };
  await stage.publish(granted(id, { credential, network: '203.0.113.0/24', requestid: 'req_1' }));
  const [event] = await arrived(1);
  expect({ ...event, details: JSON.parse(event?.details.toString() ?? '') }).toMatchObject({
    action: 'permission.granted',
    outcome: AuditOutcome.SUCCESS,
    actor: { id: member.userId, name: 'Bob' },
    personId: member.userId,
    credential,
    orgId,
    workspaceId,
    target: { type: 'resource', id },
    clientNetwork: '203.0.113.0/24',
    requestId: 'req_1',
    count: 1,
    details: { principal: expect.stringMatching(/^user:/), role: 'editor' },
  });
  expect(event?.details.toString()).not.toContain('psst');
});

test('records an event once, however often it arrives', async () => {
  const event = granted(newId());
  const after = granted(newId());
  await stage.publish(event);
  await arrived(1);
  // Another process records the same event concurrently, and the event log is read again from its start.
  const { recordsOf } = await import('../src/audit/events.js');
  const { recordAll } = await import('../src/audit/write.js');
  const parts = await stage.auditParts();
  const records = await recordsOf(parts, event);
  await Promise.all([recordAll(parts, records), recordAll(parts, records)]);
  await stage.publish(after);
  await arrived(2);
});

test('is readable for administrators of the Org, and not found for others', async () => {
  await stage.publish(granted(newId()));
  await arrived(1);
  await expect(read(member, { orgId })).rejects.toMatchObject({ reason: 'org_admin_required' });
  await expect(read(stage.person('Eve'), { orgId })).rejects.toMatchObject({ reason: 'not_found' });
  const personal = { ...admin, tenant: { orgId: null } };
  await expect(read(personal, { orgId })).rejects.toMatchObject({ reason: 'tenant_boundary' });
  const bound = { ...admin, tenant: { orgId } };
  expect((await read(bound)).items).toHaveLength(1);
  expect((await read(admin)).items).toEqual([]);
});

test('shows a credential limited to workspaces the events of these', async () => {
  await stage.publish(
    granted(newId()),
    eventOf('tenancy.org.updated', { orgId }, { tenant: orgId, actor: actor(admin) }),
  );
  await arrived(2);
  const limited = (ids: string[]) => ({ ...admin, credential: { ...admin.credential, workspaceIds: ids } });
  expect((await read(limited([workspaceId]), { orgId })).items.map(({ action }) => action)).toEqual([
    'permission.granted',
  ]);
  expect((await read(limited([newId()]), { orgId })).items).toEqual([]);
  expect((await read({ ...admin, workspaceId, tenant: { orgId } })).items).toHaveLength(1);
});

test('is filtered by action, actor, target, outcome and time, and paged by keyset', async () => {
  const id = newId();
  const key = { type: 'api_key', id: newId(), name: 'CI', person: admin.userId };
  const by = { tenant: orgId, actor: key };
  const events = [
    granted(id),
    eventOf('tenancy.org_member.added', { orgId, memberId: newId(), userId: newId(), role: 'member' }, by),
    eventOf('tenancy.org_member.removed', { orgId, memberId: newId(), userId: newId(), role: 'member' }, by),
    { ...eventOf('identity.api_key.revoked', { keyId: key.id, orgId, userId: admin.userId }, by), source: '/identity' },
  ];
  await stage.publish(...events);
  await arrived(4);
  const actions = async (fields: Partial<ListAuditEventsRequest>) =>
    (await read(admin, { orgId, ...fields })).items.map(({ action }) => action);
  expect(await actions({ action: 'org_member.added' })).toEqual(['org_member.added']);
  expect(await actions({ action: 'org_member.' })).toEqual(['org_member.removed', 'org_member.added']);
  expect(await actions({ action: 'org_member.', outcome: AuditOutcome.SUCCESS })).toHaveLength(2);
  expect(await actions({ action: 'org_member.', outcome: AuditOutcome.DENIED })).toEqual([]);
  expect(await actions({ action: 'nothing.' })).toEqual([]);
  expect(await actions({ actorId: key.id })).toHaveLength(3);
  expect(await actions({ actorId: admin.userId })).toHaveLength(3);
  expect(await actions({ targetId: id })).toEqual(['permission.granted']);
  expect(await actions({ outcome: AuditOutcome.DENIED })).toEqual([]);
  expect(await actions({ from: events[1]?.time, to: events[3]?.time })).toEqual([
    'org_member.removed',
    'org_member.added',
  ]);
  for (const fields of [{ action: 'Org Member' }, { from: events[1]?.time, to: events[1]?.time }]) {
    await expect(read(admin, { orgId, ...fields })).rejects.toMatchObject({ reason: 'invalid_value' });
  }
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { items, page } = await read(admin, { orgId }, { limit: 3, offset: 0, cursor });
    seen.push(...items.map(({ action }) => action));
    if (!page?.hasMore) break;
    cursor = page.nextCursor ?? '';
  }
  expect(seen).toEqual(['api_key.revoked', 'org_member.removed', 'org_member.added', 'permission.granted']);
});

test('contains the sign-ins of a person in their Personal tenant and in each of their Orgs', async () => {
  const started = { credentialId: 's_1', userId: member.userId, userName: 'Bob', method: 'password' };
  const failed = { userId: member.userId, userName: 'Bob', reason: 'invalid_credentials', count: 3 };
  const identity = { source: '/identity', network: '203.0.113.0/24' };
  await stage.publish(
    { ...eventOf('identity.sign_in.failed', failed), ...identity },
    { ...eventOf('identity.session.started', started), ...identity },
  );
  for (const [caller, fields] of [
    [admin, { orgId }],
    [member, {}],
  ] as const) {
    expect(await arrived(2, caller, fields)).toMatchObject([
      { action: 'session.started', outcome: AuditOutcome.SUCCESS, actor: { id: member.userId, name: 'Bob' } },
      { action: 'sign_in.failed', outcome: AuditOutcome.FAILURE, reason: 'invalid_credentials', count: 3 },
    ]);
  }
  expect((await read(admin)).items).toEqual([]);
});

test("contains changes of what protects a person's account, and who made them", async () => {
  const who = { userId: member.userId, userName: 'Bob' };
  const operator = { type: 'system', id: 'operator', name: 'operator' } as const;
  await stage.publish(
    eventOf('identity.user.password_changed', { ...who, how: 'changed' }, { actor: actor(member) }),
    eventOf('identity.user.second_factor_changed', { ...who, how: 'operator_reset' }, { actor: operator }),
    eventOf('identity.user.email_verified', who, { actor: actor(member) }),
    eventOf('identity.user.passkey_added', { ...who, passkeyId: 'p', name: 'Laptop' }, { actor: actor(member) }),
    eventOf('identity.user.passkey_removed', { ...who, passkeyId: 'p', name: 'Laptop' }, { actor: operator }),
    eventOf('identity.session.started', { ...who, credentialId: 's_1', method: 'passkey' }),
    eventOf('identity.session.started', { ...who, credentialId: 's_2', method: 'oidc' }),
  );
  for (const [caller, fields] of [
    [admin, { orgId }],
    [member, {}],
  ] as const) {
    const found = await arrived(7, caller, fields);
    const entries = found.map(({ action, actor: by, personId, details }) => {
      expect(personId).toBe(member.userId);
      return [action, by?.id, JSON.parse(details.toString())];
    });
    expect(entries.reverse()).toEqual([
      ['user.password_changed', member.userId, { how: 'changed' }],
      ['user.second_factor_changed', 'operator', { how: 'operator_reset' }],
      ['user.email_verified', member.userId, {}],
      ['user.passkey_added', member.userId, { name: 'Laptop' }],
      ['user.passkey_removed', 'operator', { name: 'Laptop' }],
      ['session.started', member.userId, { method: 'passkey' }],
      ['session.started', member.userId, { method: 'oidc' }],
    ]);
  }
});

test('distinguishes Personal and Org keys, and records their use once per hour and network', async () => {
  const keyId = newId();
  const used = () => ({
    ...eventOf(
      'identity.api_key.used',
      { keyId, userId: member.userId, hour: '2026-01-31T23' },
      { tenant: homeOf(member.userId) },
    ),
    source: '/identity',
    network: '203.0.113.0/24',
  });
  await stage.publish(used(), used(), granted(newId()));
  await arrived(1);
  expect(await arrived(1, member, {})).toMatchObject([
    { action: 'api_key.used', target: { type: 'api_key', id: keyId } },
  ]);
  expect((await read(member)).items[0]?.orgId).toBeUndefined();
});

test('an access to a restricted resource that several processes publish is recorded once a period', async () => {
  const resourceId = newId();
  const restrictedBy = newId();
  const accessed = (by: Caller, period: string) => ({
    ...eventOf(
      'resources.restricted_resource.accessed',
      { resourceId, workspaceId, restrictedBy, userId: by.userId, period },
      { tenant: orgId, actor: actor(by) },
    ),
    network: '203.0.113.0/24',
  });
  const [first, second] = ['2026-01-31T23:00:00.000Z', '2026-02-01T00:00:00.000Z'] as const;
  await stage.publish(accessed(admin, first), accessed(admin, first), accessed(admin, second), accessed(member, first));
  const events = await arrived(3);
  expect(events.map(({ personId }) => personId).sort()).toEqual([admin.userId, admin.userId, member.userId].sort());
  for (const { action, target, workspaceId: place, clientNetwork, details } of events) {
    expect({ action, target, place, clientNetwork, details: JSON.parse(details.toString()) }).toEqual({
      action: 'restricted_resource.accessed',
      target: { type: 'resource', id: resourceId },
      place: workspaceId,
      clientNetwork: '203.0.113.0/24',
      details: { restricted_by: restrictedBy },
    });
  }
});

function denied(fields: Partial<Denial>): Denial {
  return Denial.fromPartial({
    userId: member.userId,
    actor: { id: member.userId, name: 'Bob' },
    credential: { type: 'session', id: 'session-1' },
    method: 'PATCH',
    route: '/api/v1/resources/{resource_id}',
    reason: 'insufficient_role',
    requestId: `req_${newId()}`,
    time: new Date().toISOString(),
    count: 1,
    ...fields,
  });
}
const deny = (...denials: Denial[]) => log().recordDenials({ denials }, stage.stage.host.systemCall());

test('records a denial in the tenant of the request, and nowhere else', async () => {
  const other = newId();
  const elsewhere = stage.person('Eve');
  stage.join(elsewhere.userId, newId(), 'Other', other, OrgRole.OWNER);
  const resourceId = newId();
  stage.setWorkspace(resourceId, workspaceId);
  await deny(denied({ resourceId }), denied({ workspaceId }), denied({ orgId }), denied({ orgId: other }), denied({}));
  expect(await arrived(3)).toMatchObject([{ action: 'access.denied', outcome: AuditOutcome.DENIED }, {}, {}]);
  expect((await read(admin, { orgId, targetId: resourceId })).items).toMatchObject([
    { reason: 'insufficient_role', workspaceId, target: { type: 'resource', id: resourceId } },
  ]);
  expect((await read(elsewhere, { orgId: other })).items).toEqual([]);
  // A denial that names no place, or one that the person is not in, is recorded in their own tenant only.
  await arrived(2, member, {});
});

/** Adds further members to the Org, and returns their ids. */
const membersOf = (org: string, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const { userId } = stage.person(`Member ${i}`);
    stage.join(userId, workspaceId, 'Plans', org, OrgRole.MEMBER);
    return userId;
  });
const denials = async () => (await read(admin, { orgId, outcome: AuditOutcome.DENIED })).items;

test('limits the denials of a tenant per hour, also of concurrent reports, and records all successful actions', async () => {
  await Promise.all(membersOf(orgId, 20).map((userId) => deny(denied({ orgId, userId }))));
  expect(await denials()).toHaveLength(12);
  await stage.publish(granted(newId()));
  await arrived(13);
});

test('leaves room for the denials of others in the log of an Org, which one person cannot fill', async () => {
  for (let i = 0; i < 20; i++) await deny(denied({ orgId }));
  expect(await denials()).toHaveLength(3);
  const [other] = membersOf(orgId, 1);
  await deny(denied({ orgId, userId: other }));
  expect((await denials()).map(({ personId }) => personId)).toContain(other);
  // Nobody else is in the log of a Personal tenant.
  for (let i = 0; i < 20; i++) await deny(denied({}));
  await arrived(12, member, {});
});

test('deletes events after their retention time, and those of a purged Org', async () => {
  await stage.publish(granted(newId()));
  await arrived(1);
  await stage.publish(eventOf('tenancy.org.purged', { orgId }, { tenant: orgId }));
  await arrived(0);
  orgId = newId();
  stage.join(admin.userId, workspaceId, 'Plans', orgId, OrgRole.ADMIN);
  await stage.publish(granted(newId()));
  await arrived(1);
  const day = 86_400_000;
  const { store } = await stage.auditParts();
  const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();
  await removeExpired(store, inDays(399));
  expect((await read(admin, { orgId })).items).toHaveLength(1);
  await removeExpired(store, inDays(401));
  expect((await read(admin, { orgId })).items).toEqual([]);
});

test('no source passes on texts of an event, and each action has one outcome', () => {
  const secrets = {
    message: 'psst',
    text: 'psst',
    password: 'psst',
    token: 'psst',
    apiKey: 'psst',
    values: { a: 'psst' },
  };
  for (const [type, source] of Object.entries(AUDITED)) {
    const event = eventOf(type.replace('commonplace.', ''), { ...secrets, userId: newId(), keyId: newId() });
    const draft = source(event);
    expect(JSON.stringify(draft)).not.toContain('psst');
    if (draft !== undefined) expect([draft.action, outcomeOf(draft.action)]).toEqual([draft.action, draft.outcome]);
  }
});
