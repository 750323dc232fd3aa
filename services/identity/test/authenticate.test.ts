import { crc32 } from 'node:zlib';
import type { DomainEvent } from '@commonplace/kit/events';
import { homeOf, newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { ApiKeyStatus, ApiKeyType } from '@commonplace/proto/identity/v1/api_key_service.js';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { toBase62 } from '../src/domain/base62.js';
import { mintKey } from '../src/domain/key-format.js';
import { apiKeyCollection } from '../src/stores/api-keys.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { everyScope, makeKey, type Person, signUp } from './support/people.js';

const DAY = 86_400_000;
let harness: Harness;
let ada: Person;
let acme: string;

beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
  ada = await signUp(harness, 'Ada');
  acme = harness.directory.addOrg('Acme');
  harness.directory.join(ada.id, acme, OrgRole.ADMIN);
});
afterEach(() => harness.close());

const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error) => `${error.code} ${error.reason}`,
  );
/** Restarts the service, so that it sees changed memberships: it caches them for up to two seconds. */
const forget = () => harness.restart({ COMMONPLACE_SIGN_UP: 'open' });

describe('a submission credential', () => {
  const issue = () => harness.auth.issueSubmissionCredential({ formId: 'form-1', orgId: acme }, harness.call());

  test('authenticates no person, and opens one form for two hours', async () => {
    const { credential, expiresAt } = await issue();
    expect((await harness.authenticate(credential)).caller).toEqual({
      userId: '',
      userName: '',
      userEmail: '',
      tenant: { orgId: acme },
      credential: {
        type: 'submission',
        id: expect.stringMatching(/^sub_/),
        scopes: ['form:submit'],
        formId: 'form-1',
        expiresAt,
      },
    });
    const left = Date.parse(expiresAt ?? '') - harness.now();
    expect([left > 7_190_000, left <= 7_200_000]).toEqual([true, true]);
    harness.pass(7_200_001);
    expect(await refused(harness.authenticate(credential))).toBe('UNAUTHENTICATED expired_credentials');
  });

  test('is refused after it was altered', async () => {
    const { credential } = await issue();
    const [text = '', signature = ''] = credential.slice('wsf_'.length).split('.');
    const other = Buffer.from(Buffer.from(text, 'base64url').toString().replace('form-1', 'form-2')).toString(
      'base64url',
    );
    for (const forged of [
      `wsf_${other}.${signature}`,
      `wsf_${text}.${'A'.repeat(43)}`,
      `wsf_${text}`,
      `${credential}.x`,
      'wsf_',
    ]) {
      expect(await refused(harness.authenticate(forged))).toBe('UNAUTHENTICATED invalid_credentials');
    }
  });
});

describe('an API key', () => {
  test('authenticates its person in its tenant, with its scopes', async () => {
    const made = await makeKey(harness, ada.session, { orgId: acme, name: 'CI', scopes: ['org:read'] });
    const { caller } = await harness.authenticate(made.key);
    expect(caller).toEqual({
      userId: ada.id,
      userName: 'Ada',
      userEmail: 'ada@example.com',
      tenant: { orgId: acme },
      credential: { type: 'api_key', id: made.id, name: 'CI', scopes: ['org:read'], expiresAt: made.expiresAt },
    });
    const personal = await makeKey(harness, ada.session, { workspaceIds: [homeOf(ada.id)] });
    expect((await harness.authenticate(personal.key)).caller).toMatchObject({
      tenant: { orgId: null },
      credential: { workspaceIds: [homeOf(ada.id)] },
    });
  });

  test('is identified by its id, and its caller token expires with it', async () => {
    const expiresAt = new Date(harness.now() + 5000).toISOString();
    const made = await makeKey(harness, ada.session, { expiresAt });
    const request = { kind: CredentialKind.BEARER, credential: made.key, tenant: '', workspaceId: '', clientIp: '' };
    const answer = await harness.auth.authenticate(request, harness.call());
    expect(answer).toMatchObject({ credentialId: made.id, csrfToken: '', expiresAt });
  });

  test('has to match the secret that was created', async () => {
    const { key } = await makeKey(harness, ada.session);
    const other = mintKey('personal').key;
    const forged = key.slice(0, 19) + other.slice(19);
    const swapped = key.slice(0, -6).replace('wsk_p', 'wsk_o');
    const summed = swapped + toBase62(crc32(swapped), 6);
    for (const wrong of [
      other,
      forged,
      swapped,
      summed,
      `${key}x`,
      key.slice(0, -1),
      'wsk_',
      `wsk_p_${'x'.repeat(60)}`,
    ]) {
      expect(await refused(harness.authenticate(wrong))).toBe('UNAUTHENTICATED invalid_credentials');
    }
  });

  test('is refused after its expiry', async () => {
    const { key } = await makeKey(harness, ada.session, { expiresAt: new Date(harness.now() + DAY).toISOString() });
    await harness.authenticate(key);
    harness.pass(DAY);
    expect(await refused(harness.authenticate(key))).toBe('UNAUTHENTICATED expired_credentials');
  });

  test('of an Org works while its person is a member, whatever cached lists contain', async () => {
    const { key } = await makeKey(harness, ada.session, { orgId: acme });
    const personal = await makeKey(harness, ada.session);
    harness.directory.leave(ada.id, acme);
    await forget();
    expect(await refused(harness.authenticate(key))).toBe('UNAUTHENTICATED suspended_key');
    await harness.authenticate(personal.key);
    await harness.auth.reassignKeys({ orgId: acme, userId: ada.id, toUserId: '' }, harness.call());
    harness.directory.join(ada.id, acme, OrgRole.GUEST);
    await forget();
    await harness.authenticate(key);
  });

  test('is accepted only from its networks', async () => {
    const { key } = await makeKey(harness, ada.session, { ipAllowlist: ['192.0.2.0/24', '2001:db8::/32'] });
    await harness.authenticate(key, { clientIp: '192.0.2.77' });
    await harness.authenticate(key, { clientIp: '::ffff:192.0.2.77' });
    await harness.authenticate(key, { clientIp: '2001:db8::1' });
    for (const clientIp of ['198.51.100.1', '2001:db9::1', '']) {
      expect(await refused(harness.authenticate(key, { clientIp }))).toBe('PERMISSION_DENIED ip_not_allowed');
    }
  });

  test('records its last use, with the network, once a minute', async () => {
    const { id, key } = await makeKey(harness, ada.session);
    const keys = await harness.store.collection(apiKeyCollection);
    const use = async (clientIp: string) => {
      await harness.authenticate(key, { clientIp });
      await harness.settle();
      return keys.get(id);
    };
    const first = await use('192.0.2.1');
    expect(first).toMatchObject({ lastUsedIp: '192.0.2.1' });
    expect(Date.parse(first?.lastUsedAt ?? '')).toBeLessThanOrEqual(harness.now());
    expect(await use('192.0.2.2')).toEqual(first);
    harness.pass(60_000);
    expect(await use('192.0.2.3')).toMatchObject({ lastUsedIp: '192.0.2.3' });
  });

  test('works after a rotation, and no longer needs the old secret once it was used', async () => {
    const [used, unused] = [await makeKey(harness, ada.session), await makeKey(harness, ada.session)];
    const secret = 'another secret that is long enough for it';
    await harness.restart({ COMMONPLACE_SECRET_KEY: `${secret},${SECRET}` });
    await harness.authenticate(used.key);
    await harness.settle();
    await harness.restart({ COMMONPLACE_SECRET_KEY: secret });
    await harness.authenticate(used.key);
    expect(await refused(harness.authenticate(unused.key))).toBe('UNAUTHENTICATED invalid_credentials');
  });
});

describe('no credential', () => {
  test('is reported as a missing credential', async () => {
    const empty = { credential: '', tenant: '', workspaceId: '', clientIp: '' };
    for (const kind of [CredentialKind.SESSION, CredentialKind.BEARER, CredentialKind.UNSPECIFIED]) {
      expect(await refused(harness.auth.authenticate({ ...empty, kind }, harness.call()))).toBe(
        'UNAUTHENTICATED missing_credentials',
      );
    }
  });

  test('is also reported for a bearer that is neither a key nor a token', async () => {
    for (const credential of ['x', 'a.b.c', '..', `${'x'.repeat(20_000)}.y.z`]) {
      expect(await refused(harness.authenticate(credential))).toBe('UNAUTHENTICATED invalid_credentials');
    }
  });
});

describe('X-Tenant and X-Workspace-Id', () => {
  test('narrow a session to what the person can see', async () => {
    const { directory } = harness;
    const [joined, unjoined] = [directory.addWorkspace(acme, ada.id), directory.addWorkspace(acme)];
    const foreign = directory.addWorkspace('');
    await forget();
    const narrow = async (more: object) => {
      const { caller } = await harness.authenticate(ada.session, more);
      return [caller.tenant?.orgId, caller.workspaceId];
    };
    expect(await narrow({})).toEqual([undefined, undefined]);
    expect(await narrow({ tenant: 'personal' })).toEqual([null, undefined]);
    expect(await narrow({ tenant: acme })).toEqual([acme, undefined]);
    expect(await narrow({ workspaceId: joined })).toEqual([acme, joined]);
    expect(await narrow({ workspaceId: unjoined, tenant: acme })).toEqual([acme, unjoined]);
    expect(await narrow({ workspaceId: homeOf(ada.id) })).toEqual([null, homeOf(ada.id)]);
    expect(await refused(narrow({ tenant: newId() }))).toBe('NOT_FOUND not_found');
    expect(await refused(narrow({ tenant: 'acme' }))).toBe('INVALID_ARGUMENT invalid_id');
    expect(await refused(narrow({ workspaceId: 'x' }))).toBe('INVALID_ARGUMENT invalid_id');
    expect(await refused(narrow({ workspaceId: foreign }))).toBe('NOT_FOUND not_found');
    expect(await refused(narrow({ tenant: 'personal', workspaceId: joined }))).toBe(
      'PERMISSION_DENIED tenant_boundary',
    );
  });

  test('cannot move a key to another tenant', async () => {
    const { directory } = harness;
    const [one, two] = [directory.addWorkspace(acme, ada.id), directory.addWorkspace(acme, ada.id)];
    const other = directory.addOrg('Other');
    directory.join(ada.id, other);
    await forget();
    const org = await makeKey(harness, ada.session, { orgId: acme, workspaceIds: [one] });
    const personal = await makeKey(harness, ada.session);
    await harness.authenticate(org.key, { tenant: acme, workspaceId: one });
    await harness.authenticate(personal.key, { tenant: 'personal', workspaceId: homeOf(ada.id) });
    for (const [key, more] of [
      [org.key, { tenant: 'personal' }],
      [org.key, { tenant: other }],
      [org.key, { workspaceId: two }],
      [org.key, { workspaceId: homeOf(ada.id) }],
      [personal.key, { tenant: acme }],
      [personal.key, { workspaceId: one }],
    ] as const) {
      expect(await refused(harness.authenticate(key, more))).toBe('PERMISSION_DENIED tenant_boundary');
    }
  });
});

describe('changed memberships', () => {
  test('change the status in lists of keys: suspended, active again, removed with the Org', async () => {
    await makeKey(harness, ada.session, { orgId: acme });
    const keys = await harness.store.collection(apiKeyCollection);
    const tell = async (type: string, data: object) => {
      const work = harness.store.begin();
      work.publish({
        specversion: '1.0',
        id: `evt_${newId()}`,
        source: '/tenancy',
        type: `commonplace.tenancy.${type}`,
        subject: acme,
        time: new Date().toISOString(),
        datacontenttype: 'application/json',
        data: { ...data },
      });
      await work.commit();
      while ((await harness.bus.lag('identity.org-members')) > 0) await new Promise((done) => setTimeout(done, 5));
      return (await keys.find({ where: { tenant: acme }, sort: ['createdAt'], limit: 1 }))[0]?.state;
    };
    const member = { orgId: acme, userId: ada.id };
    harness.directory.leave(ada.id, acme);
    expect(await tell('org_member.updated', member)).toBe('suspended');
    harness.directory.join(ada.id, acme);
    expect(await tell('org_member.updated', member)).toBe('active');
    expect(await tell('org_member.added', { orgId: acme, userId: '' })).toBe('active');
    harness.directory.leave(ada.id, acme);
    expect(await tell('org.deleted', { orgId: acme })).toBe('suspended');
    const events: DomainEvent[] = [];
    await harness.bus.subscribe(
      { consumer: 'test.keys', types: ['commonplace.identity.api_key.revoked'] },
      async (all) => {
        events.push(...all);
      },
    );
    expect(await tell('org.purged', { orgId: acme })).toBe('revoked');
    const [key] = await keys.find({ where: { tenant: acme }, sort: ['createdAt'], limit: 1 });
    expect(key?.revokedAt).toBeDefined();
    await eventually(() => expect(events.map(({ data }) => data.credentialId)).toContain(key?.id));
  });
});

describe('GET /me', () => {
  const me = async (credential: string, more: object = {}) => {
    const { token } = await harness.authenticate(credential, more);
    return harness.account.getMe({}, harness.call(token));
  };

  test('shows a session its person and all their Orgs', async () => {
    const answer = await me(ada.session);
    expect(answer).toMatchObject({
      user: { id: ada.id, name: 'Ada', email: 'ada@example.com', locale: 'en', timezone: 'UTC' },
      tenant: { type: 'TENANT_TYPE_PERSONAL', orgId: undefined, role: undefined },
      credential: { type: 'CREDENTIAL_TYPE_SESSION', keyId: undefined, workspaceIds: undefined, scopes: everyScope },
      defaultWorkspaceId: homeOf(ada.id),
      orgs: [{ id: acme, name: 'Acme', role: 'admin' }],
    });
    expect((await me(ada.session, { tenant: acme })).tenant).toEqual({
      type: 'TENANT_TYPE_ORG',
      orgId: acme,
      name: 'Acme',
      role: 'admin',
    });
  });

  test('shows a key only its own tenant', async () => {
    harness.directory.join(ada.id, harness.directory.addOrg('Other'));
    await forget();
    const org = await makeKey(harness, ada.session, { orgId: acme, name: 'CI' });
    const personal = await makeKey(harness, ada.session, { type: ApiKeyType.PERSONAL });
    expect(await me(org.key)).toMatchObject({
      tenant: { type: 'TENANT_TYPE_ORG', orgId: acme },
      credential: { type: 'CREDENTIAL_TYPE_API_KEY', keyId: org.id, name: 'CI' },
      orgs: [{ id: acme }],
      defaultWorkspaceId: undefined,
    });
    expect(await me(personal.key)).toMatchObject({
      tenant: { type: 'TENANT_TYPE_PERSONAL' },
      orgs: [],
      defaultWorkspaceId: homeOf(ada.id),
    });
    expect((await me(ada.session, { tenant: acme })).defaultWorkspaceId).toBeUndefined();
    expect(org.status).toBe(ApiKeyStatus.ACTIVE);
  });
});
