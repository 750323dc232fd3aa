import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { keptFiles } from '../src/kept-files.js';
import { type Person, signIn, signUp } from '../src/people.js';
import { type RunningProvider, startProvider } from '../src/provider.js';
import type { Connection, Connector, List, Workspace } from '../src/records.js';
import { freePort, type OwnSystem, startSystem } from '../src/system.js';

let system: OwnSystem;
let provider: RunningProvider;
let owner: Person;
let workspace: Workspace;
let connectors: string;
let connections: string;

beforeAll(async () => {
  const port = await freePort();
  const client = { clientId: 'commonplace', clientSecret: 'a-secret-of-the-client' };
  const redirectUri = `http://127.0.0.1:${port}/auth/connectors/callback`;
  provider = await startProvider({ ...client, redirectUri, email: 'ada@elsewhere.example' });
  system = await startSystem({
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_CLIENT_ID: client.clientId,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_CLIENT_SECRET: client.clientSecret,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_AUTHORIZE_URL: `${provider.issuer}/auth`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_TOKEN_URL: `${provider.issuer}/token`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_REVOKE_URL: `${provider.issuer}/token/revocation`,
    COMMONPLACE_CONNECTOR_GOOGLE_DRIVE_SCOPES: 'openid,email,offline_access',
  });
  owner = await signIn(system, system.owner);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Connected' })).data;
  connectors = `/workspaces/${workspace.id}/connectors`;
  connections = `/workspaces/${workspace.id}/connections`;
}, 120_000);

afterAll(async () => {
  await system?.stop();
  await provider?.stop();
});

/** Returns to the server like a browser. */
async function comeBack(url: string, cookie: string) {
  const answer = await fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
  return { status: answer.status, location: answer.headers.get('location'), html: await answer.text() };
}

describe('an external account', () => {
  test('is connected by the person who began it, and revoked there when the connection ends', async () => {
    const { data: made, status } = await owner.post<Connector>(connectors, { type: 'google_drive', name: 'Our Drive' });
    expect([status, made.status, made.auth_type]).toEqual([201, 'pending', 'oauth2']);
    const back = await provider.allow(made.authorize_url ?? '');
    expect(back).toContain(`${system.baseUrl}/auth/connectors/callback?`);

    const nobody = await comeBack(back, '');
    expect([nobody.status, nobody.location?.startsWith('/auth/sign-in?next=')]).toEqual([303, true]);
    const stranger = await signUp(system, 'Stranger');
    expect((await comeBack(back, stranger.session.cookie)).status).toBe(404);

    const done = await comeBack(back, owner.session.cookie);
    expect([done.status, done.html]).toEqual([200, expect.stringContaining('<strong>Our Drive</strong> is connected')]);
    expect(done.html).toContain('ada@elsewhere.example');
    expect((await comeBack(back, owner.session.cookie)).status).toBe(404);

    const { data: listed, text } = await owner.get<List<Connection>>(connections);
    expect(listed.items).toMatchObject([
      {
        connector_id: made.id,
        connector_type: 'google_drive',
        account_label: 'ada@elsewhere.example',
        status: 'active',
      },
    ]);
    expect(text).not.toMatch(/token|sealed/);
    const { data: shown } = await owner.get<List<Connector>>(connectors);
    expect(shown.items).toMatchObject([{ id: made.id, status: 'active', connection_count: 1 }]);
    expect(shown.items[0]).not.toHaveProperty('authorize_url');

    const { data: ended } = await owner.del(`${connections}/${listed.items[0]?.id}`);
    expect(ended).toMatchObject({ deleted: true, upstream_revoked: true });
    expect((await owner.get<List<Connection>>(connections)).data.items).toEqual([]);
    expect((await owner.del(`${connectors}/${made.id}`)).data).toMatchObject({ deleted: true, connections_removed: 0 });
  });

  test('that is refused is reported as refused', async () => {
    const { data: made } = await owner.post<Connector>(connectors, { type: 'google_drive' });
    provider.denies(true);
    const back = await provider.allow(made.authorize_url ?? '');
    provider.denies(false);
    const { status, html } = await comeBack(back, owner.session.cookie);
    expect([status, html]).toEqual([400, expect.stringContaining('Nothing is connected')]);
    const { data } = await owner.get<List<Connector>>(`${connectors}?status=pending`);
    expect(data.items).toMatchObject([{ id: made.id, last_error: 'access_denied' }]);
  });

  test('connector:write alone is enough to end connections', async () => {
    const ask = async (scopes: string[]) => {
      const { data } = await owner.post<{ key: string }>('/api-keys', { name: 'Key', scopes });
      const { status, body } = await api(system, data.key).del(`${connections}/${made.id}`);
      return [status, body.error?.code];
    };
    const { data: made } = await owner.post<Connector>(connectors, { type: 'google_drive' });
    expect(await ask(['connector:write'])).toEqual([404, 'not_found']);
    expect(await ask(['connection:write'])).toEqual([404, 'not_found']);
    expect(await ask(['connector:read', 'connection:read'])).toEqual([403, 'insufficient_scope']);
  });
});

describe('credentials', () => {
  const SECRET = 'XyZ-a-very-secret-text-4711';

  test('are in no response, log or file', async () => {
    const headers = { 'Idempotency-Key': 'connect-once' };
    const body = {
      type: 's3',
      config: { bucket: 'b' },
      credentials: { access_key_id: 'AK', secret_access_key: SECRET },
    };
    const made = await owner.post<Connector>(connectors, body, { headers });
    expect([made.status, made.data.status, made.data.auth_type]).toEqual([201, 'active', 'api_key']);
    const again = await owner.post<Connector>(connectors, body, { headers });
    expect(again.data.id).toBe(made.data.id);
    const wrong = await owner.post(connectors, { ...body, config: { bucket: 'b', endpoint: 'https://10.0.0.1' } });
    expect([wrong.status, wrong.error.code, wrong.error.param]).toEqual([400, 'url_not_allowed', 'config.endpoint']);
    const malformed = await owner.post(connectors, { ...body, credentials: { token: SECRET } });
    expect(malformed.status).toBe(400);
    const listed = await owner.get(connectors);
    for (const { text } of [made, again, wrong, malformed, listed]) expect(text).not.toContain(SECRET);
    expect(system.stdout() + system.stderr()).not.toContain(SECRET);
    if (system.mode === 'mesh') return;
    for (const { path, bytes } of keptFiles(system)) expect([path, bytes.includes(SECRET)]).toEqual([path, false]);
  });
});
