import { randomBytes } from 'node:crypto';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { ApiKeyStatus, ApiKeyType, ListApiKeysRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { apiKeyCollection } from '../src/stores/api-keys.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { everyScope, keyOf, makeKey, type Person, signUp } from './support/people.js';

const DAY = 86_400_000;
let harness: Harness;
let ada: Person;
let bob: Person;
let acme: string;

beforeEach(async () => {
  const limits = { COMMONPLACE_KEYS_PER_PERSON: '3', COMMONPLACE_KEYS_PER_ORG: '4' };
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open', ...limits });
  [ada, bob] = [await signUp(harness, 'Ada'), await signUp(harness, 'Bob')];
  acme = harness.directory.addOrg('Acme');
  harness.directory.join(ada.id, acme, OrgRole.ADMIN);
  harness.directory.join(bob.id, acme, OrgRole.MEMBER);
});
afterEach(() => harness.close());

const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error) => `${error.code} ${error.reason} ${error.param ?? ''}`.trim(),
  );
const list = async (credential: string, more: object = {}, narrowed: object = {}) => {
  const { token } = await harness.authenticate(credential, narrowed);
  const page = { limit: 50, offset: 0, cursor: '' };
  const request = ListApiKeysRequest.fromPartial({ page, ...more });
  return harness.apiKeys.listApiKeys(request, harness.call(token));
};
const revoke = async (credential: string, keyId: string) => {
  const { token } = await harness.authenticate(credential);
  return harness.apiKeys.deleteApiKey({ keyId }, harness.call(token));
};

describe('creating a key', () => {
  test('fails if its session ends meanwhile', async () => {
    const place = harness.directory.addWorkspace(acme);
    const signed = { email: 'ada@example.com', password: 'long enough', code: '', clientIp: '', userAgent: '' };
    const { session } = await harness.auth.signIn(signed, harness.call());
    const { client } = harness.directory;
    const { lookUpWorkspace } = client;
    client.lookUpWorkspace = async (...args) => {
      client.lookUpWorkspace = lookUpWorkspace;
      await harness.security.endOtherSessions({ session }, harness.call());
      return lookUpWorkspace(...args);
    };
    const making = makeKey(harness, ada.session, { orgId: acme, workspaceIds: [place] });
    expect(await refused(making)).toBe('UNAUTHENTICATED invalid_credentials');
    expect((await list(session, { orgId: acme })).items).toEqual([]);
  });

  test('creates a Personal key by default, and shows it only once', async () => {
    const made = await makeKey(harness, ada.session, { name: 'CI', description: 'for builds' });
    expect(made).toMatchObject({
      name: 'CI',
      description: 'for builds',
      type: ApiKeyType.PERSONAL,
      orgId: undefined,
      scopes: ['resource:read'],
      workspaceIds: undefined,
      status: ApiKeyStatus.ACTIVE,
      actingUser: { id: ada.id, name: 'Ada' },
      ipAllowlist: [],
    });
    expect(made.key).toMatch(/^wsk_p_/);
    expect(made.key.startsWith(made.keyPrefix)).toBe(true);
    expect(made.key.endsWith(made.last4)).toBe(true);
    const { items } = await list(ada.session);
    expect(items).toEqual([{ ...made, key: undefined }]);
    const stored = await (await harness.store.collection(apiKeyCollection)).get(made.id);
    expect(JSON.stringify(stored)).not.toContain(made.key.slice(19, 59));
  });

  test('omits the key from a replayed response, and says so', async () => {
    const { token } = await harness.authenticate(ada.session);
    const idempotency = { id: 'the same', fingerprint: 'too' };
    const first = await harness.apiKeys.createApiKey(keyOf(), harness.call(token, { idempotency }));
    const reply: Reply = {};
    const second = await harness.apiKeys.createApiKey(keyOf(), harness.call(token, { idempotency, reply }));
    expect(second).toEqual({ ...first, key: undefined });
    expect(reply.warnings).toEqual([expect.objectContaining({ code: 'secret_not_replayed' })]);
    expect((await list(ada.session)).items).toHaveLength(1);
  });

  test('requires an administrator for a key of an Org', async () => {
    expect((await makeKey(harness, ada.session, { orgId: acme })).key).toMatch(/^wsk_o_/);
    expect(await refused(makeKey(harness, bob.session, { orgId: acme }))).toBe('PERMISSION_DENIED org_admin_required');
    const eve = await signUp(harness, 'Eve');
    expect(await refused(makeKey(harness, eve.session, { orgId: acme }))).toBe('NOT_FOUND not_found');
    expect(await refused(makeKey(harness, ada.session, { orgId: newId() }))).toBe('NOT_FOUND not_found');
  });

  test('stays within the tenant of the credential', async () => {
    const personal = await makeKey(harness, ada.session, { scopes: everyScope });
    const org = await makeKey(harness, ada.session, { orgId: acme, scopes: everyScope });
    expect(await refused(makeKey(harness, personal.key, { orgId: acme }))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(makeKey(harness, org.key, { type: ApiKeyType.PERSONAL }))).toBe(
      'PERMISSION_DENIED tenant_boundary',
    );
    expect(await makeKey(harness, personal.key)).toMatchObject({ type: ApiKeyType.PERSONAL });
    expect(await makeKey(harness, org.key)).toMatchObject({ type: ApiKeyType.ORG, orgId: acme });
    harness.directory.join(ada.id, acme, OrgRole.MEMBER);
    await harness.restart({});
    expect(await refused(makeKey(harness, org.key))).toBe('PERMISSION_DENIED org_admin_required');
  });

  test('refuses a type that contradicts org_id, and an Org key without an Org', async () => {
    const both = { type: ApiKeyType.PERSONAL, orgId: acme };
    expect(await refused(makeKey(harness, ada.session, both))).toBe('INVALID_ARGUMENT invalid_value org_id');
    const none = { type: ApiKeyType.ORG };
    expect(await refused(makeKey(harness, ada.session, none))).toBe('INVALID_ARGUMENT missing_field org_id');
  });

  test('grants no scope that the credential lacks', async () => {
    const { key } = await makeKey(harness, ada.session, { scopes: ['api_key:write', 'resource:read'] });
    const made = await makeKey(harness, key, { scopes: ['resource:read', 'resource:read'] });
    expect(made.scopes).toEqual(['resource:read']);
    const { token } = await harness.authenticate(key);
    const more = keyOf({ scopes: ['resource:read', 'resource:write'] });
    await expect(harness.apiKeys.createApiKey(more, harness.call(token))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'scope_escalation',
      details: { missing_scopes: ['resource:write'] },
    });
    expect(await refused(makeKey(harness, key, { scopes: ['nonsense'] }))).toBe(
      'INVALID_ARGUMENT invalid_scope scopes[0]',
    );
  });

  test('reports all faults at once', async () => {
    const { token } = await harness.authenticate(ada.session);
    const expiresAt = new Date(harness.now() - 1000).toISOString();
    const request = keyOf({ scopes: ['resource:read', '*'], ipAllowlist: ['10.0.0.0/8', 'home'], expiresAt });
    const error = await harness.apiKeys.createApiKey(request, harness.call(token)).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'validation_failed' });
    expect(error.faults.map((fault: { param: string; code: string }) => [fault.param, fault.code])).toEqual([
      ['scopes[1]', 'invalid_scope'],
      ['ip_allowlist[1]', 'invalid_value'],
      ['expires_at', 'invalid_value'],
    ]);
  });

  test('limits a key to workspaces of its tenant that the person can see', async () => {
    const { directory } = harness;
    const [mine, joined] = [directory.addWorkspace('', ada.id), directory.addWorkspace(acme, ada.id)];
    const [foreign, unjoined] = [directory.addWorkspace('', bob.id), directory.addWorkspace(acme, bob.id)];
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open' });
    const limited = (workspaceIds: string[], orgId?: string) => makeKey(harness, ada.session, { workspaceIds, orgId });
    expect((await limited([mine, mine])).workspaceIds).toEqual({ values: [mine] });
    expect((await limited([joined, unjoined], acme)).workspaceIds).toEqual({ values: [joined, unjoined] });
    expect(await refused(limited([mine, joined]))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(limited([mine], acme))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(limited([foreign]))).toBe('NOT_FOUND not_found');
    expect(await refused(limited([newId()]))).toBe('NOT_FOUND not_found');
  });

  test('gives a key created by a key no more workspaces, networks or lifetime than its creator has', async () => {
    const { directory } = harness;
    const [one, two] = [directory.addWorkspace('', ada.id), directory.addWorkspace('', ada.id)];
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open' });
    const expiresAt = new Date(harness.now() + DAY).toISOString();
    const creator = await makeKey(harness, ada.session, {
      scopes: everyScope,
      workspaceIds: [one],
      ipAllowlist: ['10.0.0.0/8'],
      expiresAt,
    });
    const { token } = await harness.authenticate(creator.key, { clientIp: '10.1.1.1' });
    const make = (more: object) => harness.apiKeys.createApiKey(keyOf(more), harness.call(token));
    expect(await make({})).toMatchObject({ workspaceIds: { values: [one] }, ipAllowlist: ['10.0.0.0/8'], expiresAt });
    const narrower = { ipAllowlist: ['10.5.0.0/16'], expiresAt: new Date(harness.now() + DAY / 2).toISOString() };
    expect(await make(narrower)).toMatchObject(narrower);
    expect(await refused(make({ workspaceIds: [two] }))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(make({ ipAllowlist: ['0.0.0.0/0'] }))).toBe('PERMISSION_DENIED scope_escalation ip_allowlist');
    const later = new Date(harness.now() + 2 * DAY).toISOString();
    expect(await refused(make({ expiresAt: later }))).toBe('PERMISSION_DENIED scope_escalation expires_at');
  });

  test('respects the maximum lifetime of the Org', async () => {
    harness.directory.join(ada.id, acme, OrgRole.ADMIN, 10);
    await harness.restart({});
    const ends = (days: number) => new Date(harness.now() + days * DAY).toISOString();
    const made = await makeKey(harness, ada.session, { orgId: acme });
    expect(Date.parse(made.expiresAt ?? '')).toBeLessThanOrEqual(harness.now() + 10 * DAY);
    expect(Date.parse(made.expiresAt ?? '')).toBeGreaterThan(harness.now() + 9 * DAY);
    await makeKey(harness, ada.session, { orgId: acme, expiresAt: ends(9) });
    expect(await refused(makeKey(harness, ada.session, { orgId: acme, expiresAt: ends(11) }))).toBe(
      'INVALID_ARGUMENT invalid_value expires_at',
    );
  });

  test('stops at the limit, even for concurrent requests', async () => {
    const { token } = await harness.authenticate(ada.session);
    const make = (more: object) => refused(harness.apiKeys.createApiKey(keyOf(more), harness.call(token)));
    const personal = await Promise.all([1, 2, 3, 4, 5, 6].map(() => make({})));
    expect(personal.sort()).toEqual([...Array(3).fill('ABORTED limit_reached'), ...Array(3).fill('done')]);
    const org = await Promise.all([1, 2, 3, 4, 5].map(() => make({ orgId: acme })));
    expect(org.sort()).toEqual(['ABORTED limit_reached', ...Array(4).fill('done')]);
    const { items } = await list(ada.session, { type: ApiKeyType.PERSONAL });
    await revoke(ada.session, items[0]?.id ?? '');
    expect(await make({})).toBe('done');
  });
});

describe('listing keys', () => {
  const ids = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);

  test("shows a person's own keys, and all keys of the Org to an administrator", async () => {
    const personal = await makeKey(harness, ada.session);
    harness.directory.join(bob.id, acme, OrgRole.ADMIN);
    await harness.restart({});
    const adas = await makeKey(harness, ada.session, { orgId: acme, scopes: everyScope });
    const bobs = await makeKey(harness, bob.session, { orgId: acme });
    harness.directory.join(bob.id, acme, OrgRole.MEMBER);
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open' });
    expect(ids(await list(ada.session))).toEqual([adas.id, personal.id]);
    expect(ids(await list(ada.session, { type: ApiKeyType.PERSONAL }))).toEqual([personal.id]);
    expect(ids(await list(ada.session, { type: ApiKeyType.ORG }))).toEqual([bobs.id, adas.id]);
    expect(ids(await list(ada.session, { orgId: acme }))).toEqual([bobs.id, adas.id]);
    expect(ids(await list(ada.session, {}, { tenant: acme }))).toEqual([bobs.id, adas.id]);
    expect(ids(await list(ada.session, {}, { tenant: 'personal' }))).toEqual([personal.id]);
    expect(ids(await list(ada.session, { type: ApiKeyType.ORG }, { tenant: 'personal' }))).toEqual([]);
    expect(ids(await list(adas.key))).toEqual([bobs.id, adas.id]);
    expect(ids(await list(adas.key, { type: ApiKeyType.PERSONAL }))).toEqual([]);
    expect(ids(await list(personal.key))).toEqual([personal.id]);
    expect(ids(await list(bob.session))).toEqual([bobs.id]);
    expect(ids(await list(bob.session, { orgId: acme }))).toEqual([bobs.id]);
    expect(ids(await list(bob.session, { type: ApiKeyType.ORG }))).toEqual([bobs.id]);
    const other = harness.directory.addOrg('Other');
    harness.directory.join(ada.id, other, OrgRole.ADMIN);
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open' });
    const newest = await makeKey(harness, ada.session, { orgId: other });
    const page = { limit: 2, offset: 1, cursor: '' };
    const middle = await list(ada.session, { type: ApiKeyType.ORG, page });
    expect(ids(middle)).toEqual([bobs.id, adas.id]);
    expect(middle.page).toMatchObject({ total: 3, hasMore: false });
    expect(ids(await list(ada.session, { type: ApiKeyType.ORG }))[0]).toBe(newest.id);
    const eve = await signUp(harness, 'Eve');
    expect(ids(await list(eve.session, { type: ApiKeyType.ORG }))).toEqual([]);
    expect(await refused(list(personal.key, { orgId: acme }))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(list(ada.session, { orgId: newId() }))).toBe('NOT_FOUND not_found');
    expect(await refused(list(ada.session, { orgId: acme, type: ApiKeyType.PERSONAL }))).toBe(
      'INVALID_ARGUMENT invalid_value org_id',
    );
  });

  test('filters by status, including the computed expiry', async () => {
    const ends = new Date(harness.now() + DAY).toISOString();
    const kept = await makeKey(harness, ada.session);
    const ending = await makeKey(harness, ada.session, { expiresAt: ends });
    const gone = await makeKey(harness, ada.session);
    await revoke(ada.session, gone.id);
    const of = async (status: ApiKeyStatus) => ids(await list(ada.session, { status }));
    expect(await of(ApiKeyStatus.ACTIVE)).toEqual([ending.id, kept.id]);
    expect(await of(ApiKeyStatus.EXPIRED)).toEqual([]);
    await harness.restart({ COMMONPLACE_SESSION_IDLE_HOURS: '48' });
    harness.pass(DAY);
    expect(await of(ApiKeyStatus.ACTIVE)).toEqual([kept.id]);
    expect(await of(ApiKeyStatus.EXPIRED)).toEqual([ending.id]);
    expect(await of(ApiKeyStatus.REVOKED)).toEqual([gone.id]);
    expect(await of(ApiKeyStatus.SUSPENDED)).toEqual([]);
    const all = await list(ada.session);
    expect(all.items.map(({ status }) => status)).toEqual([ApiKeyStatus.EXPIRED, ApiKeyStatus.ACTIVE]);
  });

  test('returns pages by offset and by cursor', async () => {
    const made = [];
    for (let n = 0; n < 3; n++) made.unshift((await makeKey(harness, ada.session)).id);
    const first = await list(ada.session, { page: { limit: 2, offset: 0, cursor: '' } });
    expect(ids(first)).toEqual(made.slice(0, 2));
    expect(first.page).toMatchObject({ limit: 2, offset: 0, total: 3, hasMore: true, nextOffset: 2 });
    const cursor = first.page?.nextCursor ?? '';
    const second = await list(ada.session, { page: { limit: 2, offset: 0, cursor } });
    expect(ids(second)).toEqual(made.slice(2));
    expect(second.page).toMatchObject({ hasMore: false, nextOffset: undefined, nextCursor: undefined });
    expect(ids(await list(ada.session, { page: { limit: 2, offset: 2, cursor: '' } }))).toEqual(made.slice(2));
    expect(await refused(list(ada.session, { page: { limit: 2, offset: 0, cursor: 'x' } }))).toContain(
      'invalid_pagination',
    );
  });
});

describe('the expiry of a key', () => {
  const ends = (made: { expiresAt?: string | undefined }) =>
    made.expiresAt === undefined ? undefined : Math.round((Date.parse(made.expiresAt) - harness.now()) / DAY);
  const never = { expiresAt: undefined, namedFields: ['expires_at'] };

  test('defaults to 90 days, and can explicitly be none', async () => {
    expect(ends(await makeKey(harness, ada.session))).toBe(90);
    expect(ends(await makeKey(harness, ada.session, { namedFields: ['name'] }))).toBe(90);
    expect(ends(await makeKey(harness, ada.session, never))).toBeUndefined();
    await harness.restart({ COMMONPLACE_KEYS_PER_PERSON: '50' });
    const later = new Date(harness.now() + 400 * DAY).toISOString();
    expect(ends(await makeKey(harness, ada.session, { expiresAt: later, namedFields: ['expires_at'] }))).toBe(400);
  });

  test('uses the default that the operator has configured', async () => {
    await harness.restart({ COMMONPLACE_KEY_LIFETIME_DAYS: '0' });
    expect(ends(await makeKey(harness, ada.session))).toBeUndefined();
    await harness.restart({ COMMONPLACE_KEY_LIFETIME_DAYS: '7', COMMONPLACE_MAX_KEY_LIFETIME_DAYS: '30' });
    expect(ends(await makeKey(harness, ada.session))).toBe(7);
    for (const asked of [never, { expiresAt: new Date(harness.now() + 31 * DAY).toISOString() }]) {
      expect(await refused(makeKey(harness, ada.session, asked))).toBe('INVALID_ARGUMENT invalid_value expires_at');
    }
  });

  test('is required if the Org limits it, or if the creating key expires', async () => {
    harness.directory.join(ada.id, acme, OrgRole.ADMIN, 10);
    await harness.restart({});
    expect(ends(await makeKey(harness, ada.session, { orgId: acme }))).toBe(10);
    expect(await refused(makeKey(harness, ada.session, { orgId: acme, ...never }))).toBe(
      'INVALID_ARGUMENT invalid_value expires_at',
    );
    const ending = await makeKey(harness, ada.session, { scopes: everyScope });
    expect(await refused(makeKey(harness, ending.key, never))).toBe('PERMISSION_DENIED scope_escalation expires_at');
  });
});

describe('revoking a key', () => {
  test('takes effect at once, publishes an event, and works only once', async () => {
    const { id, key } = await makeKey(harness, ada.session);
    const { token } = await harness.authenticate(key);
    expect(await harness.apiKeys.deleteApiKey({ keyId: id }, harness.call(token))).toEqual({ id, deleted: true });
    expect(await refused(harness.authenticate(key))).toBe('UNAUTHENTICATED revoked_key');
    expect(await refused(revoke(ada.session, id))).toBe('NOT_FOUND not_found');
    const seen: unknown[] = [];
    const types = ['commonplace.identity.api_key.created', 'commonplace.identity.api_key.revoked'];
    await harness.bus.subscribe({ consumer: 'test', types }, async (events) => {
      seen.push(...events.map(({ type, data, tenant }) => ({ type, data, tenant })));
    });
    while (seen.length < 2) await new Promise((done) => setTimeout(done, 5));
    const tenant = expect.any(String);
    const about = { keyId: id, userId: ada.id, name: 'Key' };
    expect(seen).toEqual([
      { type: 'commonplace.identity.api_key.created', data: about, tenant },
      { type: 'commonplace.identity.api_key.revoked', data: { ...about, credentialId: id }, tenant },
    ]);
  });

  test('is allowed for the person whom it acts as and for administrators of its Org', async () => {
    const personal = await makeKey(harness, ada.session, { scopes: everyScope });
    const org = await makeKey(harness, ada.session, { orgId: acme });
    expect(await refused(revoke(bob.session, personal.id))).toBe('NOT_FOUND not_found');
    expect(await refused(revoke(bob.session, org.id))).toBe('NOT_FOUND not_found');
    expect(await refused(revoke(personal.key, org.id))).toBe('PERMISSION_DENIED tenant_boundary');
    expect(await refused(revoke(ada.session, newId()))).toBe('NOT_FOUND not_found');
    harness.directory.join(bob.id, acme, OrgRole.ADMIN);
    await harness.restart({});
    expect(await refused(revoke(bob.session, org.id))).toBe('done');
    expect(await refused(revoke(ada.session, personal.id))).toBe('done');
  });
});

test('revoking a key requires the version that the request names', async () => {
  const { id } = await makeKey(harness, ada.session);
  const { token } = await harness.authenticate(ada.session);
  const revokeAt = (baseVersion: number) =>
    harness.apiKeys.deleteApiKey({ keyId: id }, harness.call(token, { baseVersion }));
  expect(await refused(revokeAt(9999))).toBe('ABORTED version_conflict');
  expect((await list(ada.session)).items).toHaveLength(1);
  expect(await refused(revokeAt(1))).toBe('done');
});

describe('rotating a key', () => {
  const HOUR = DAY / 24;
  const rotate = async (credential: string, keyId: string, metadata: object = {}) => {
    const { token } = await harness.authenticate(credential);
    const rotated = await harness.apiKeys.rotateApiKey({ keyId }, harness.call(token, metadata));
    return { ...rotated, key: rotated.key ?? '' };
  };
  /** Signs Ada in again, whose sign-in is no longer recent. */
  const again = async () => {
    const request = { email: 'ada@example.com', password: 'long enough', clientIp: '', userAgent: '', code: '' };
    return (await harness.auth.signIn(request, harness.call())).session;
  };
  const worksAs = (key: string) => refused(harness.authenticate(key));

  test('gives it a new secret, beside which the former one works for a day', async () => {
    const workspaceId = harness.directory.addWorkspace('', ada.id);
    const limits = { workspaceIds: [workspaceId], ipAllowlist: ['10.0.0.0/8'], description: 'for builds' };
    const { key: first, ...made } = await makeKey(harness, ada.session, { name: 'CI', ...limits });
    const { key: second, ...rotated } = await rotate(ada.session, made.id);
    const until = rotated.formerKeyExpiresAt ?? '';
    expect(Math.abs(Date.parse(until) - harness.now() - 24 * HOUR)).toBeLessThan(60_000);
    expect(rotated).toEqual({ ...made, last4: second.slice(-4), formerKeyExpiresAt: until });
    expect(second).not.toBe(first);
    expect(second.startsWith(made.keyPrefix)).toBe(true);
    const clientIp = '10.1.2.3';
    const expiryOf = async (key: string) => (await harness.authenticate(key, { clientIp })).caller.credential.expiresAt;
    expect([await expiryOf(first), await expiryOf(second)]).toEqual([until, made.expiresAt]);
    harness.pass(24 * HOUR + 1000);
    expect(await refused(harness.authenticate(first, { clientIp }))).toBe('UNAUTHENTICATED expired_credentials');
    await harness.authenticate(second, { clientIp });
    expect((await list(await again())).items).toHaveLength(1);
  });

  test('ends the secret before the last at once, and the last one at the end of the key', async () => {
    const expiresAt = new Date(harness.now() + 2 * HOUR).toISOString();
    const { id, key: first } = await makeKey(harness, ada.session, { expiresAt });
    const { key: second, formerKeyExpiresAt } = await rotate(ada.session, id);
    expect(formerKeyExpiresAt).toBe(expiresAt);
    const { key: third } = await rotate(ada.session, id);
    expect([await worksAs(first), await worksAs(second), await worksAs(third)]).toEqual([
      'UNAUTHENTICATED invalid_credentials',
      'done',
      'done',
    ]);
    await revoke(ada.session, id);
    for (const key of [second, third]) expect(await worksAs(key)).toBe('UNAUTHENTICATED revoked_key');
    expect(await refused(rotate(ada.session, id))).toBe('NOT_FOUND not_found');
  });

  test('lasts as the operator sets, and a changed pepper changes nothing', async () => {
    const { id, key: first } = await makeKey(harness, ada.session);
    const peppers = `${randomBytes(32).toString('base64')},${SECRET}`;
    await harness.restart({ COMMONPLACE_FORMER_KEY_HOURS: '2', COMMONPLACE_SECRET_KEY: peppers });
    const { key: second } = await rotate(ada.session, id);
    expect([await worksAs(first), await worksAs(second)]).toEqual(['done', 'done']);
    harness.pass(2 * HOUR + 1000);
    expect([await worksAs(first), await worksAs(second)]).toEqual(['UNAUTHENTICATED expired_credentials', 'done']);
    await harness.restart({ COMMONPLACE_FORMER_KEY_HOURS: '0', COMMONPLACE_SECRET_KEY: peppers });
    const { key: third } = await rotate(await again(), id);
    expect([await worksAs(second), await worksAs(third)]).toEqual(['UNAUTHENTICATED expired_credentials', 'done']);
  });

  test('omits the key from a replayed response, and heeds a required version', async () => {
    const { id } = await makeKey(harness, ada.session);
    const idempotency = { id: 'the same', fingerprint: 'too' };
    const first = await rotate(ada.session, id, { idempotency });
    expect(await rotate(ada.session, id, { idempotency })).toEqual({ ...first, key: '' });
    await harness.authenticate(first.key);
    expect(await refused(rotate(ada.session, id, { baseVersion: 9999 }))).toBe('ABORTED version_conflict');
  });

  test('is for the person whom it acts as, who administers the Org', async () => {
    const { id } = await makeKey(harness, ada.session, { orgId: acme });
    const carol = await signUp(harness, 'Carol');
    harness.directory.join(carol.id, acme, OrgRole.OWNER);
    expect(await refused(rotate(bob.session, id))).toBe('NOT_FOUND not_found');
    expect(await refused(rotate(carol.session, id))).toBe('PERMISSION_DENIED insufficient_role');
    expect(await refused(rotate(ada.session, id))).toBe('done');
    harness.directory.join(ada.id, acme, OrgRole.MEMBER);
    await harness.restart({});
    expect(await refused(rotate(ada.session, id))).toBe('PERMISSION_DENIED org_admin_required');
  });

  test('gives no credential more than it has', async () => {
    const scopes = ['api_key:write', 'resource:read'];
    const own = await makeKey(harness, ada.session, { scopes });
    const wider = await makeKey(harness, ada.session, { scopes: ['resource:write'] });
    expect(await refused(rotate(own.key, wider.id))).toBe('PERMISSION_DENIED scope_escalation');
    const brief = await makeKey(harness, ada.session, {
      ...{ scopes, expiresAt: new Date(harness.now() + HOUR).toISOString() },
    });
    expect(await refused(rotate(brief.key, own.id))).toBe('PERMISSION_DENIED scope_escalation');
    const { key: next } = await rotate(own.key, own.id);
    // The former secret could otherwise outlast its day.
    expect(await refused(rotate(own.key, own.id))).toBe('PERMISSION_DENIED scope_escalation');
    await revoke(ada.session, wider.id);
    expect(Date.parse((await makeKey(harness, own.key)).expiresAt ?? '')).toBeLessThanOrEqual(harness.now() + DAY);
    expect(await refused(rotate(next, own.id))).toBe('done');
  });

  test('requires a recent sign-in', async () => {
    const { id } = await makeKey(harness, ada.session);
    harness.pass(31 * 60_000);
    expect(await refused(rotate(ada.session, id))).toBe('PERMISSION_DENIED reauthentication_required');
  });
});

describe('reassigning keys', () => {
  test('transfers them unchanged, and suspends them if there is no receiver', async () => {
    const carol = await signUp(harness, 'Carol');
    const { key } = await makeKey(harness, ada.session, { orgId: acme });
    const request = { orgId: acme, userId: ada.id, toUserId: bob.id };
    expect(await harness.auth.reassignKeys(request, harness.call())).toEqual({ reassigned: 1 });
    expect(await harness.auth.reassignKeys(request, harness.call())).toEqual({ reassigned: 0 });
    harness.directory.leave(ada.id, acme);
    await harness.restart({});
    expect((await harness.authenticate(key)).caller).toMatchObject({ userId: bob.id, tenant: { orgId: acme } });
    harness.directory.join(carol.id, acme, OrgRole.OWNER);
    harness.directory.join(bob.id, acme, OrgRole.ADMIN);
    const told: unknown[] = [];
    await harness.bus.watch(['commonplace.identity.api_key.suspended'], ({ data }) => told.push(data.notifyUserIds));
    const nobody = { orgId: acme, userId: bob.id, toUserId: '' };
    expect(await harness.auth.reassignKeys(nobody, harness.call())).toEqual({ reassigned: 1 });
    expect(await harness.auth.reassignKeys(nobody, harness.call())).toEqual({ reassigned: 0 });
    const { items } = await list(bob.session, { status: ApiKeyStatus.SUSPENDED });
    expect(items).toHaveLength(1);
    expect(told).toEqual([[carol.id]]);
  });
});
