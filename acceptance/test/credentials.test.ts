import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { type Issuer, startIssuer } from '../src/issuer.js';
import { newKey, type Person, signIn } from '../src/people.js';
import type { Me, Org, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

let issuer: Issuer;
let system: OwnSystem;
/** The owner's first key, with every scope. */
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  issuer = await startIssuer('commonplace');
  const issuers = [{ issuer: issuer.url, audience: 'commonplace', create_users: true }];
  system = await startSystem({ COMMONPLACE_OIDC_ISSUERS: JSON.stringify(issuers) });
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Credentials' })).data;
});

afterAll(async () => {
  await system?.stop();
  await issuer?.stop();
});

const REQUEST_ID = /^req_[a-z2-7]{26}$/;

describe('the caller', () => {
  let owner: Person;
  let orgId: string;

  beforeAll(async () => {
    owner = await signIn(system, system.owner);
    orgId = (await owner.post<Org>('/orgs', { name: 'Who' })).data.id;
  });

  test('a Personal key', async () => {
    const { id, key } = await newKey(by, ['resource:read'], { workspace_ids: [workspace.id] });
    const { data } = await api(system, key).get<Me>('/me');
    expect(data).toMatchObject({
      user: { email: system.owner.email },
      tenant: { type: 'personal', org_id: null, role: null },
      credential: { type: 'api_key', key_id: id, scopes: ['resource:read'], workspace_ids: [workspace.id] },
      orgs: [],
    });
    // The person's default workspace is another one, which the key does not reach.
    expect(data.default_workspace_id).toBeNull();
    const unlimited = (await by.get<Me>('/me')).data.default_workspace_id;
    expect((await by.get<Workspace>(`/workspaces/${unlimited}`)).data.role).toBe('owner');
  });

  test('a key of an Org', async () => {
    const { id, key } = await newKey(owner, ['org:read'], { org_id: orgId });
    expect(key).toMatch(/^wsk_o_/);
    const { data } = await api(system, key).get<Me>('/me');
    expect(data).toMatchObject({
      tenant: { type: 'org', org_id: orgId, role: 'owner' },
      credential: { type: 'api_key', key_id: id, workspace_ids: null },
      orgs: [{ id: orgId, role: 'owner' }],
    });
  });

  test('a session', async () => {
    const { data } = await owner.get<Me>('/me');
    expect(data).toMatchObject({
      tenant: { type: 'personal' },
      credential: { type: 'session', key_id: null, workspace_ids: null },
      orgs: [{ id: orgId, role: 'owner' }],
    });
    const inOrg = await owner.get<Me>('/me', { headers: { 'X-Tenant': orgId } });
    expect(inOrg.data.tenant).toMatchObject({ type: 'org', org_id: orgId, role: 'owner' });
  });

  test('a token of an identity provider', async () => {
    const claims = {
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
      scope: 'org:read openid unknown:read',
    };
    const token = await issuer.token('ada', claims);
    const { data } = await api(system, token).get<Me>('/me');
    expect(data).toMatchObject({
      user: { email: 'ada@example.com', name: 'Ada' },
      tenant: { type: 'personal' },
      credential: { type: 'bearer', key_id: null, scopes: ['org:read'] },
    });
    expect((await api(system, token).get('/workspaces')).error.code).toBe('insufficient_scope');
    expect((await api(system, await issuer.token('ada', claims)).get<Me>('/me')).data.user.id).toBe(data.user.id);
  });

  test('a token for another audience, without a valid signature, or expired, is refused', async () => {
    const refused = async (token: string) => (await api(system, token).get('/me')).error.code;
    expect(await refused(await issuer.token('ada', { aud: 'others' }))).toBe('invalid_credentials');
    expect(await refused(await issuer.token('ada', { iss: 'http://127.0.0.1:1' }))).toBe('invalid_credentials');
    expect(await refused(await issuer.token('ada', { exp: Math.floor(Date.now() / 1000) - 120 }))).toBe(
      'expired_credentials',
    );
    const [, payload = ''] = (await issuer.token('ada')).split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    expect(await refused(`${none}.${payload}.`)).toBe('invalid_credentials');
    const [head = '', , signature = ''] = (await issuer.token('ada')).split('.');
    expect(await refused(`${head}.${payload}x.${signature}`)).toBe('invalid_credentials');
  });
});

test('a key that is revoked while its request is being sent writes nothing', async () => {
  const { id, key } = await newKey(by, ['memory:write']);
  const body = JSON.stringify({ content: 'Written too late', kind: 'fact' });
  async function* slowly(): AsyncIterable<Buffer> {
    yield Buffer.from(body.slice(0, 10));
    await sleep(600);
    await by.del(`/api-keys/${id}`);
    yield Buffer.from(body.slice(10));
  }
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const request = { method: 'POST', headers, body: Readable.from(slowly()) } as const;
  const answer = await fetch(`${system.baseUrl}/api/v1/memories`, {
    ...request,
    duplex: 'half',
  } as unknown as RequestInit);
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({ error: { code: 'revoked_key' } });
  expect((await by.get<{ items: unknown[] }>('/memories?q=late')).data.items).toEqual([]);
});

describe('sessions', () => {
  test('begin with the address and password of the first start, and scripts cannot read the cookie', async () => {
    const { email, password } = system.owner;
    const reply = await api(system).post<{ csrf_token: string }>('/auth/sign-in', { email, password });
    expect(reply.status).toBe(200);
    expect(reply.body.request_id).toMatch(REQUEST_ID);
    const [cookie = ''] = reply.headers.getSetCookie();
    expect(cookie).toMatch(/^session=[^;]{20,};/);
    expect(cookie).toMatch(/; *HttpOnly/i);
    expect(cookie).toMatch(/; *SameSite=Lax/i);
    expect(cookie).toMatch(/; *Path=\/(;|$)/i);
    expect(reply.text).not.toContain(cookie.slice('session='.length, 40));
  });

  test('a wrong password and an unknown address get the same response', async () => {
    const { email, password } = system.owner;
    const wrong = await api(system).post('/auth/sign-in', { email, password: `${password}x` });
    const unknown = await api(system).post('/auth/sign-in', { email: 'nobody@example.com', password });
    expect([wrong.status, wrong.error]).toEqual([401, unknown.error]);
    expect(wrong.error.code).toBe('invalid_credentials');
    expect(wrong.headers.getSetCookie()).toEqual([]);
  });

  test('a write needs the CSRF token, and must come from our own pages', async () => {
    const owner = await signIn(system, system.owner);
    const body = { name: 'Guarded' };
    const write = async (headers: Record<string, string>) => {
      const reply = await api(system).post('/workspaces', body, {
        headers: { Cookie: owner.session.cookie, ...headers },
      });
      return [reply.status, reply.body.error?.code, reply.body.error?.message];
    };
    const missing = [403, 'csrf_failed', expect.stringContaining('X-CSRF-Token')];
    expect(await write({})).toEqual(missing);
    expect(await write({ 'X-CSRF-Token': 'wrong' })).toEqual(missing);
    const right = { 'X-CSRF-Token': owner.session.csrf };
    const foreign = [403, 'csrf_failed', expect.stringContaining(system.baseUrl)];
    expect(await write({ ...right, Origin: 'https://elsewhere.example' })).toEqual(foreign);
    const german = { 'Accept-Language': 'de', Origin: 'https://elsewhere.example' };
    expect(await write({ ...right, ...german })).toEqual(foreign);
    expect(await write({ ...right, Origin: system.baseUrl })).toEqual([201, undefined, undefined]);
    expect(await write(right)).toEqual([201, undefined, undefined]);
  });

  test('GET /auth/session returns the token, and signing out ends it at once', async () => {
    const owner = await signIn(system, system.owner);
    const { data } = await owner.get<{ csrf_token: string; user: { email: string } }>('/auth/session');
    expect([data.csrf_token, data.user.email]).toEqual([owner.session.csrf, system.owner.email]);
    expect((await owner.get('/me')).status).toBe(200);
    expect((await owner.post('/auth/sign-out', {})).status).toBe(200);
    expect((await owner.get('/auth/session')).status).toBe(401);
  });
});
