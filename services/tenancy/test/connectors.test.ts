import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Caller } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import { createEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import {
  ConnectionStatus,
  ConnectorAuthType,
  ConnectorStatus,
  ConnectorType,
  CreateConnectorRequest,
  ListConnectionsRequest,
  ListConnectorsRequest,
} from '@commonplace/proto/tenancy/v1/connector_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { WorkspaceMember } from '@commonplace/proto/tenancy/v1/workspace.js';
import { ListWorkspaceMembersRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { disconnect } from '../src/acts/disconnect.js';
import { config } from '../src/config.js';
import { publishing } from '../src/events.js';
import { runPurge } from '../src/jobs/purge.js';
import { connectionCollection, connectorCollection } from '../src/stores/connectors.js';
import { clientFor } from '../src/upstream/oauth-clients.js';
import { openWorld, openWorldParts, type World } from './world.js';

/** A fake external system whose responses the tests set. */
const upstream = {
  url: '',
  requests: [] as { path: string; body: URLSearchParams; authorization: string | undefined }[],
  token: undefined as ((response: ServerResponse) => void) | undefined,
  revoke: 200,
  /** Number of revocations that got no response, because their token is `SILENT`. */
  silent: 0,
};
const SILENT = 'revocations of this token get no response';
const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request) text += chunk;
  const [path, body] = [request.url ?? '', new URLSearchParams(text)];
  if (body.get('token') === SILENT) return void upstream.silent++;
  upstream.requests.push({ path, body, authorization: request.headers.authorization });
  if (path === '/revoke') return void response.writeHead(upstream.revoke).end();
  if (upstream.token !== undefined) return upstream.token(response);
  json(response, 200, {
    access_token: `access-${newId()}`,
    refresh_token: 'refresh-secret',
    token_type: 'bearer',
    expires_in: 3600,
    scope: 'repo,read:user',
    workspace_name: 'Acme',
  });
}
function sendEndlessly(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const send = () => {
    while (!response.destroyed && response.write(' '.repeat(2 ** 16)));
  };
  response.on('drain', send);
  send();
}
function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

let world: World;
let owner: Caller;
let workspaceId: string;
const before = { ...process.env };
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(process.env, {
    COMMONPLACE_PUBLIC_URL: 'https://wiki.example.com',
    COMMONPLACE_URL_ALLOWLIST: 'wiki.intern',
    COMMONPLACE_CONNECTOR_GITHUB_CLIENT_ID: 'client',
    COMMONPLACE_CONNECTOR_GITHUB_CLIENT_SECRET: 'client-secret',
    COMMONPLACE_CONNECTOR_GITHUB_AUTHORIZE_URL: `${upstream.url}/authorize`,
    COMMONPLACE_CONNECTOR_GITHUB_TOKEN_URL: `${upstream.url}/token`,
    COMMONPLACE_CONNECTOR_GITHUB_REVOKE_URL: `${upstream.url}/revoke`,
    COMMONPLACE_CONNECTOR_GITHUB_SCOPES: 'repo,read:user',
  });
  world = await openWorld();
});
afterAll(async () => {
  await world.close();
  server.close();
  server.closeAllConnections();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
});
beforeEach(async () => {
  owner = world.person();
  workspaceId = (await world.createWorkspace(owner)).id;
  upstream.requests.length = 0;
  upstream.token = undefined;
  upstream.revoke = 200;
});

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const page = { limit: 50, offset: 0, cursor: '' };
interface Given {
  readonly type: ConnectorType;
  readonly config?: unknown;
  readonly credentials?: unknown;
  readonly name?: string;
}
const create = async ({ config, credentials, ...given }: Given, caller = owner) =>
  world.connectors.createConnector(
    {
      ...CreateConnectorRequest.fromPartial({}),
      workspaceId,
      ...given,
      ...(config === undefined ? {} : { config: bytes(config) }),
      ...(credentials === undefined ? {} : { credentials: bytes(credentials) }),
    },
    await world.as(caller),
  );
const list = async (caller: Caller, type = ConnectorType.UNSPECIFIED, status = ConnectorStatus.UNSPECIFIED) =>
  world.connectors.listConnectors(
    ListConnectorsRequest.fromPartial({ workspaceId, page, type, status }),
    await world.as(caller),
  );
const connections = async (caller: Caller, status = ConnectionStatus.UNSPECIFIED, connectorId?: string) =>
  world.connectors.listConnections(
    ListConnectionsRequest.fromPartial({ workspaceId, page, connectorId, status }),
    await world.as(caller),
  );
const remove = async (caller: Caller, connectorId: string) =>
  world.connectors.deleteConnector({ workspaceId, connectorId }, await world.as(caller));
const removeConnection = async (caller: Caller, connectionId: string) =>
  world.connectors.deleteConnection({ workspaceId, connectionId }, await world.as(caller));
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );
async function member(role: WorkspaceRole): Promise<Caller> {
  const caller = world.person();
  await world.put(owner, workspaceId, caller, role);
  return caller;
}
const s3 = { type: ConnectorType.S3, config: { bucket: 'docs' } };
const S3_KEYS = { access_key_id: 'AKIA-PUBLIC', secret_access_key: 'very-secret' };

describe('a connector with credentials', () => {
  test('is active, and shows no part of them', async () => {
    const made = await create({ ...s3, credentials: S3_KEYS });
    expect(made).toMatchObject({
      name: 'S3',
      authType: ConnectorAuthType.API_KEY,
      status: ConnectorStatus.ACTIVE,
      connectionCount: 0,
      authorizeUrl: undefined,
    });
    expect(JSON.parse(made.config.toString())).toEqual({ bucket: 'docs' });
    const basic = { username: 'ada', password: 'pa55' };
    await create({ type: ConnectorType.HTTP, config: { url: 'https://api.example.com' }, credentials: basic });
    const listed = JSON.stringify(await list(owner));
    expect(listed).not.toMatch(/AKIA|very-secret|pa55/);
    const records = await world.host.store.collection(connectorCollection);
    const stored = await records.get(made.id);
    expect(stored?.sealed).toMatch(/^v1\./);
    expect(JSON.stringify(stored)).not.toMatch(/AKIA|very-secret/);
    await eventually(() => {
      const events = world.events.filter(({ subject }) => subject === made.id);
      expect(events.map(({ data }) => data)).toEqual([{ workspaceId, connectorId: made.id, type: 's3' }]);
    });
  });

  test('is stored without its credentials by an idempotency record', async () => {
    const metadata = { idempotency: { id: newId(), fingerprint: 'x' } };
    const request = { ...CreateConnectorRequest.fromPartial({}), workspaceId, type: ConnectorType.GITHUB };
    const reply: { warnings?: { code: string }[] } = {};
    const first = await world.connectors.createConnector(request, await world.as(owner, metadata));
    const again = await world.connectors.createConnector(request, await world.as(owner, metadata, reply as never));
    expect(first.authorizeUrl).toContain('state=');
    expect([again.id, again.authorizeUrl]).toEqual([first.id, undefined]);
    expect(reply.warnings?.[0]?.code).toBe('secret_not_replayed');
  });

  test.each([{ api_key: 'x' }, { token: 'x' }, { access_token: 'x' }])(
    'accepts a key under any of its names: %j',
    async (credentials) => {
      const made = await create({ type: ConnectorType.SLACK, name: Object.keys(credentials).join(), credentials });
      expect([made.authType, made.status]).toEqual([ConnectorAuthType.API_KEY, ConnectorStatus.ACTIVE]);
    },
  );

  test.each([
    ['no credentials', s3, 'missing_field', 'credentials'],
    ['those of another type', { ...s3, credentials: { api_key: 'x' } }, 'invalid_value', 'credentials'],
    ['one too few', { ...s3, credentials: { access_key_id: 'x' } }, 'invalid_value', 'credentials'],
    [
      'one that is no text',
      { type: ConnectorType.SLACK, credentials: { api_key: 1 } },
      'invalid_type',
      'credentials.api_key',
    ],
    [
      'an empty one',
      { type: ConnectorType.SLACK, credentials: { api_key: '' } },
      'missing_field',
      'credentials.api_key',
    ],
    ['no bucket', { ...s3, config: {}, credentials: S3_KEYS }, 'missing_field', 'config.bucket'],
    ['no URL', { type: ConnectorType.MCP }, 'missing_field', 'config.url'],
    [
      'too much of a configuration',
      { ...s3, config: { bucket: 'x'.repeat(20_000) }, credentials: S3_KEYS },
      'payload_too_large',
      'config',
    ],
  ])('refuses %s', async (_, given, reason, param) => {
    await expect(create(given)).rejects.toMatchObject({ reason, param });
    expect((await list(owner)).items).toEqual([]);
  });

  test.each([
    'http://api.example.com',
    'https://127.0.0.1/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost:8443/',
    'https://user:pass@api.example.com/',
    'https://api.example.com:22/',
    'ftp://api.example.com/',
    'not a url',
  ])('refuses %s as a URL to call', async (url) => {
    const refused = { reason: 'url_not_allowed', param: 'config.url' };
    await expect(create({ type: ConnectorType.HTTP, config: { url } })).rejects.toMatchObject(refused);
    await expect(create({ type: ConnectorType.MCP, config: { url } })).rejects.toMatchObject(refused);
  });

  test('finds URLs anywhere in the config, and accepts a host that the operator allows', async () => {
    const nested = { url: 'https://a.example.com', more: [{ proxy: 'http://10.0.0.1:8080' }] };
    await expect(create({ type: ConnectorType.HTTP, config: nested })).rejects.toMatchObject({
      reason: 'url_not_allowed',
      param: 'config.more[0].proxy',
    });
    const made = await create({ type: ConnectorType.HTTP, config: { url: 'http://wiki.intern/' } });
    expect(made.authType).toBe(ConnectorAuthType.NONE);
  });

  test.each(['api_key', 'token', 'access_token', 'password', 'secret_access_key'])(
    'refuses %s in the config, which members see',
    async (name) => {
      const config = { url: 'https://api.example.com/', [name]: 'very-secret' };
      const error = await create({ type: ConnectorType.HTTP, config }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ reason: 'invalid_value', param: `config.${name}` });
      expect(JSON.stringify(error)).not.toContain('very-secret');
    },
  );

  test('refuses its own addresses, and what the Org does not list', async () => {
    const refused = { reason: 'url_not_allowed', param: 'config.url' };
    const at = (url: string) => create({ type: ConnectorType.HTTP, config: { url } });
    await expect(at('https://wiki.example.com/api/v1')).rejects.toMatchObject(refused);
    const org = await world.createOrg(owner, { settings: { urlAllowlist: ['api.example.org'] } });
    workspaceId = (await world.createWorkspace(owner, { orgId: org.id })).id;
    await expect(at('https://api.example.com/')).rejects.toMatchObject(refused);
    expect(await at('https://api.example.org/')).toMatchObject({ authType: ConnectorAuthType.NONE });
  });

  test('reports all faults at once, and no secret', async () => {
    const config = { bucket: 7, endpoint: 'https://10.0.0.1' };
    const error = await create({ type: ConnectorType.S3, config, credentials: { api_key: 'very-secret' } }).catch(
      (thrown: { faults: { param: string }[] }) => thrown,
    );
    expect(JSON.stringify(error)).not.toContain('very-secret');
    expect((error as { faults: { param: string }[] }).faults.map(({ param }) => param)).toEqual([
      'config.bucket',
      'config.endpoint',
      'credentials',
    ]);
  });
});

describe('each role', () => {
  test.each([
    [WorkspaceRole.GUEST, 'insufficient_role', 'insufficient_role'],
    [WorkspaceRole.VIEWER, 'ok', 'insufficient_role'],
    [WorkspaceRole.EDITOR, 'ok', 'insufficient_role'],
    [WorkspaceRole.ADMIN, 'ok', 'ok'],
  ])('%s', async (role, lists, writes) => {
    const caller = await member(role);
    const made = await create({ ...s3, credentials: S3_KEYS });
    expect(await outcome(list(caller))).toBe(lists);
    expect(await outcome(create({ ...s3, credentials: S3_KEYS }, caller))).toBe(writes);
    expect(await outcome(connections(caller))).toBe('ok');
    expect(await outcome(remove(caller, made.id))).toBe(writes);
    expect(await outcome(removeConnection(caller, newId()))).toBe('not_found');
  });

  test('a connector of another workspace, or for an outsider, is not found', async () => {
    const made = await create({ ...s3, credentials: S3_KEYS });
    workspaceId = (await world.createWorkspace(owner)).id;
    expect(await outcome(remove(owner, made.id))).toBe('not_found');
    expect(await outcome(list(world.person()))).toBe('not_found');
  });
});

test('lists filter by type and status, and the number per workspace is limited', async () => {
  await create({ ...s3, credentials: S3_KEYS });
  await create({ type: ConnectorType.GITHUB });
  expect((await list(owner, ConnectorType.S3)).items.map(({ name }) => name)).toEqual(['S3']);
  expect((await list(owner, undefined, ConnectorStatus.PENDING)).items.map(({ name }) => name)).toEqual(['GitHub']);
  for (let i = 2; i < 100; i++) await create({ ...s3, name: `S3 ${i}`, credentials: S3_KEYS });
  await expect(create({ ...s3, credentials: S3_KEYS })).rejects.toMatchObject({ reason: 'limit_reached' });
  await world.archive(workspaceId);
  await expect(create({ ...s3, credentials: S3_KEYS })).rejects.toMatchObject({ reason: 'workspace_archived' });
});

describe('an authorization', () => {
  /** Begins an authorization. Returns the URL for the person and the query of their redirect back. */
  async function begin(caller = owner) {
    const { id, authorizeUrl = '' } = await create({ type: ConnectorType.GITHUB, name: newId() }, caller);
    const url = new URL(authorizeUrl);
    return { id, url, back: `code=the-code&state=${url.searchParams.get('state')}` };
  }
  const complete = async (query: string, caller = owner) =>
    world.connectors.completeAuthorization({ query }, await world.as(caller));

  test('redirects to the external system with the required parameters and PKCE', async () => {
    const { url } = await begin();
    expect(url.origin + url.pathname).toBe(`${upstream.url}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'client',
      redirect_uri: 'https://wiki.example.com/auth/connectors/callback',
      scope: 'repo read:user',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  test('that is granted creates the connection, whose tokens are never shown', async () => {
    const { id, back } = await begin();
    const done = await complete(back);
    expect(done).toMatchObject({ connectorId: id, accountLabel: 'Acme', error: undefined });
    const exchanged = upstream.requests[0];
    expect(exchanged?.path).toBe('/token');
    expect(Object.fromEntries(exchanged?.body ?? [])).toMatchObject({
      grant_type: 'authorization_code',
      code: 'the-code',
      client_id: 'client',
      client_secret: 'client-secret',
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect((await list(owner)).items).toMatchObject([{ id, status: ConnectorStatus.ACTIVE, connectionCount: 1 }]);
    const listed = await connections(owner);
    expect(listed.items).toMatchObject([
      {
        connectorId: id,
        connectorType: ConnectorType.GITHUB,
        scopes: ['repo', 'read:user'],
        status: ConnectionStatus.ACTIVE,
      },
    ]);
    expect(JSON.stringify(listed)).not.toMatch(/refresh-secret|access-/);
    const records = await world.host.store.collection(connectionCollection);
    expect(JSON.stringify(await records.get(done.connectionId ?? ''))).not.toMatch(/refresh-secret|access-/);
    await eventually(() => {
      const types = world.events.filter(({ data }) => data.connectionId === done.connectionId).map(({ type }) => type);
      expect(types).toEqual(['commonplace.tenancy.connection.created']);
    });
  });

  test('is valid once, for ten minutes, and for the person who began it', async () => {
    const { back } = await begin();
    const other = await member(WorkspaceRole.ADMIN);
    const gone = { code: 'NOT_FOUND', reason: 'expired_link' };
    await expect(complete(back, other)).rejects.toMatchObject(gone);
    await complete(back);
    await expect(complete(back)).rejects.toMatchObject(gone);
    await expect(complete('code=x&state=invented')).rejects.toMatchObject(gone);
    await expect(complete('')).rejects.toMatchObject(gone);
    const late = await begin();
    world.wait(10 * 60_000 + 1);
    await expect(complete(late.back)).rejects.toMatchObject(gone);
    expect(upstream.requests.filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  test('whose redirect arrives twice at once sends its code once', async () => {
    const { id, back } = await begin();
    const outcomes = await Promise.all(
      [1, 2, 3].map(() =>
        complete(back).then(
          ({ error }) => error ?? 'connected',
          ({ reason }) => reason,
        ),
      ),
    );
    expect(outcomes.sort()).toEqual(['connected', 'expired_link', 'expired_link']);
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/token']);
    expect((await list(owner)).items).toMatchObject([{ id, status: ConnectorStatus.ACTIVE, connectionCount: 1 }]);
  });

  test('of another account revokes the grant of the previous one', async () => {
    const connector = { type: ConnectorType.GITHUB, name: 'Code' };
    const connectTo = async (account: string) => {
      const { authorizeUrl = '' } = await create(connector);
      upstream.token = (response) =>
        json(response, 200, {
          access_token: 'access',
          refresh_token: `of-${account}`,
          token_type: 'bearer',
          workspace_name: account,
        });
      return complete(`code=a&state=${new URL(authorizeUrl).searchParams.get('state')}`);
    };
    const first = await connectTo('Acme');
    await connectTo('Acme');
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/token', '/token']);
    expect(await connectTo('Umbrella')).toMatchObject({ connectionId: first.connectionId, accountLabel: 'Umbrella' });
    const revoked = upstream.requests.filter(({ path }) => path === '/revoke');
    expect(revoked.map(({ body }) => body.get('token'))).toEqual(['of-Acme']);
    expect((await connections(owner)).items).toMatchObject([{ accountLabel: 'Umbrella' }]);
  });

  test('that is repeated by any person concerns the same connector', async () => {
    const admin = await member(WorkspaceRole.ADMIN);
    const drive = { type: ConnectorType.GITHUB, name: 'Code', config: { base_url: 'https://git.example.com' } };
    const [first, again] = [await create(drive), await create(drive, admin)];
    expect(again.id).toBe(first.id);
    expect(again.authorizeUrl).not.toBe(first.authorizeUrl);
    const stateOf = (url = '') => new URL(url).searchParams.get('state');
    await complete(`code=a&state=${stateOf(first.authorizeUrl)}`);
    await complete(`code=b&state=${stateOf(again.authorizeUrl)}`, admin);
    expect((await list(owner)).items).toMatchObject([{ id: first.id, connectionCount: 2 }]);
    const anew = await create(drive);
    expect(anew).toMatchObject({ id: first.id, connectionCount: 2, status: ConnectorStatus.ACTIVE });
    const own = await complete(`code=c&state=${stateOf(anew.authorizeUrl)}`);
    expect((await connections(owner)).items.map(({ id }) => id)).toContain(own.connectionId);
    expect((await connections(owner)).items).toHaveLength(2);
    expect((await create({ ...drive, config: {} })).id).not.toBe(first.id);
  });

  test('that names another issuer creates no connection', async () => {
    const { back } = await begin();
    const foreign = `${back}&iss=${encodeURIComponent('https://accounts.example.com')}`;
    expect(await complete(foreign)).toMatchObject({ connectionId: undefined, error: 'invalid_answer' });
    expect(upstream.requests).toEqual([]);
    const own = await begin();
    const named = `${own.back}&iss=${encodeURIComponent(upstream.url)}`;
    expect(await complete(named)).toMatchObject({ connectorId: own.id, error: undefined });
  });

  test.each([
    ['Google', {}, 'google_drive', 'https://accounts.google.com'],
    ['GitHub', {}, 'github', 'https://github.com/login/oauth'],
    [
      'a GitHub of the operator',
      { AUTHORIZE_URL: 'https://git.example.com/authorize' },
      'github',
      'https://git.example.com',
    ],
    [
      'a GitHub of the operator that names itself otherwise',
      { AUTHORIZE_URL: 'https://git.example.com/authorize', ISSUER: 'https://git.example.com/login/oauth' },
      'github',
      'https://git.example.com/login/oauth',
    ],
  ])('of %s expects the issuer that it names', (_, more, type, issuer) => {
    const of = (suffix: string) => `COMMONPLACE_CONNECTOR_${type.toUpperCase()}_${suffix}`;
    const given = Object.entries({ CLIENT_ID: 'client', ...more }).map(([suffix, value]) => [of(suffix), value]);
    const { COMMONPLACE_SECRETS_KEY } = process.env;
    const settings = readConfig(config, { COMMONPLACE_SECRETS_KEY, ...Object.fromEntries(given) });
    expect(clientFor(settings, type)).toMatchObject({ issuer });
  });

  test.each([
    [
      'has left the workspace',
      'not_found',
      (place: WorkspaceMember, as: CallOptions) => {
        const leaving = { workspaceId, memberId: place.id ?? '', keepGrants: false };
        return world.workspaces.removeWorkspaceMember(leaving, as);
      },
    ],
    [
      'is no administrator any more',
      'insufficient_role',
      (place: WorkspaceMember, as: CallOptions) =>
        world.workspaces.updateWorkspaceMember(
          { workspaceId, memberId: place.id ?? '', role: WorkspaceRole.EDITOR, updateMask: ['role'] },
          as,
        ),
    ],
  ])('of a person who meanwhile %s is revoked', async (_, reason, change) => {
    const admin = await member(WorkspaceRole.ADMIN);
    const { back } = await begin(admin);
    const members = ListWorkspaceMembersRequest.fromPartial({ workspaceId, page, role: WorkspaceRole.ADMIN });
    const [place] = (await world.workspaces.listWorkspaceMembers(members, await world.as(owner))).items;
    upstream.token = async (response) => {
      if (place !== undefined) await change(place, await world.as(owner));
      json(response, 200, { access_token: 'access', refresh_token: 'refresh-secret', token_type: 'bearer' });
    };
    await expect(complete(back, admin)).rejects.toMatchObject({ reason });
    expect((await connections(owner)).items).toEqual([]);
    expect(upstream.requests.map(({ path, body }) => [path, body.get('token')])).toEqual([
      ['/token', null],
      ['/revoke', 'refresh-secret'],
    ]);
  });

  test('that is denied leaves the connector pending, with the reason', async () => {
    const { id, back } = await begin();
    const refused = back.replace('code=the-code', 'error=access_denied');
    expect(await complete(refused)).toMatchObject({ connectionId: undefined, error: 'access_denied' });
    const [connector] = (await list(owner)).items;
    expect(connector).toMatchObject({ id, status: ConnectorStatus.PENDING, lastError: 'access_denied' });
    await expect(complete(back)).rejects.toMatchObject({ reason: 'expired_link' });
  });

  test.each([
    ['an error', 'invalid_grant', (response: ServerResponse) => json(response, 400, { error: 'invalid_grant' })],
    ['no token', 'invalid_answer', (response: ServerResponse) => json(response, 200, { secret: 'sesame' })],
    [
      'a strange token',
      'invalid_answer',
      (r: ServerResponse) => json(r, 200, { access_token: 'sesame', token_type: 'x' }),
    ],
    ['an endless answer', 'unreachable', (response: ServerResponse) => void sendEndlessly(response)],
    ['a page', 'invalid_answer', (response: ServerResponse) => void response.end('<html>sesame</html>')],
    ['nothing', 'unreachable', (response: ServerResponse) => void response.destroy()],
  ])('that is answered with %s fails, and reports only %s', async (_, error, token) => {
    upstream.token = token;
    const { back } = await begin();
    const answer = await complete(back);
    expect(answer).toMatchObject({ connectionId: undefined, error });
    const shown = JSON.stringify([answer, await list(owner)]);
    expect(shown).not.toContain('sesame');
    expect((await list(owner)).items).toMatchObject([{ status: ConnectorStatus.ERROR, lastError: error }]);
  });

  test('whose answer has absurd values is granted all the same', async () => {
    const scope = Array.from({ length: 5000 }, (_, i) => `scope-${i}`).join(' ');
    upstream.token = (response) =>
      json(response, 200, {
        access_token: 'a',
        token_type: 'bearer',
        expires_in: 1e15,
        scope: `${'x'.repeat(1e5)} ${scope}`,
      });
    expect(await complete((await begin()).back)).toMatchObject({ error: undefined });
    const [connection] = (await connections(owner)).items;
    expect(connection?.scopes).toHaveLength(200);
    expect(connection?.scopes[0]).toBe('scope-0');
    expect(Date.parse(connection?.expiresAt ?? '')).toBeGreaterThan(world.clock());
  });

  test('a token that cannot be refreshed expires', async () => {
    upstream.token = (response) => json(response, 200, { access_token: 'a', token_type: 'bearer', expires_in: 60 });
    await complete((await begin()).back);
    expect((await connections(owner, ConnectionStatus.ACTIVE)).items).toHaveLength(1);
    world.wait(61_000);
    expect((await connections(owner, ConnectionStatus.EXPIRED)).items).toHaveLength(1);
    expect((await connections(owner, ConnectionStatus.ACTIVE)).items).toHaveLength(0);
  });

  test('people see their own connections, administrators see all', async () => {
    const admin = await member(WorkspaceRole.ADMIN);
    const { connectionId = '' } = await complete((await begin()).back);
    const own = await complete((await begin(admin)).back, admin);
    expect((await connections(owner)).items).toHaveLength(2);
    const [place] = (
      await world.workspaces.listWorkspaceMembers(
        ListWorkspaceMembersRequest.fromPartial({ workspaceId, page, role: WorkspaceRole.ADMIN }),
        await world.as(owner),
      )
    ).items;
    const demoted = { workspaceId, memberId: place?.id ?? '', updateMask: ['role'], role: WorkspaceRole.VIEWER };
    await world.workspaces.updateWorkspaceMember(demoted, await world.as(owner));
    expect((await connections(admin)).items.map(({ id }) => id)).toEqual([own.connectionId]);
    expect(await outcome(removeConnection(admin, connectionId))).toBe('not_found');
    expect(await outcome(removeConnection(admin, own.connectionId ?? ''))).toBe('ok');
  });

  test('deleting a connection revokes its grant, if the external system is reachable', async () => {
    const first = await complete((await begin()).back);
    expect(await removeConnection(owner, first.connectionId ?? '')).toMatchObject({
      deleted: true,
      upstreamRevoked: true,
    });
    const revoked = upstream.requests.find(({ path }) => path === '/revoke');
    expect(revoked?.body.get('token')).toBe('refresh-secret');
    upstream.revoke = 503;
    const second = await complete((await begin()).back);
    expect(await removeConnection(owner, second.connectionId ?? '')).toMatchObject({
      deleted: true,
      upstreamRevoked: false,
    });
    expect((await connections(owner)).items).toEqual([]);
  });

  test('an external system that does not respond is not waited for with each grant', async () => {
    upstream.token = (response) =>
      json(response, 200, { access_token: 'access', refresh_token: SILENT, token_type: 'bearer' });
    const made = await Promise.all(Array.from({ length: 12 }, async () => complete((await begin()).back)));
    const parts = await openWorldParts(world);
    const all = await parts.connectors.connectionsIn(workspaceId);
    expect(all).toHaveLength(made.length);
    const work = parts.store.begin();
    expect(await disconnect(parts, publishing(work), all, 100)).toBe(0);
    expect(upstream.silent).toBeLessThanOrEqual(10);
    await work.commit();
    expect((await connections(owner)).items).toEqual([]);
  });

  test('purging an Org revokes the grants of its connections', async () => {
    const org = await world.createOrg(owner);
    workspaceId = (await world.createWorkspace(owner, { orgId: org.id })).id;
    await complete((await begin()).back);
    await world.orgs.deleteOrg({ orgId: org.id, confirm: undefined }, await world.as(owner));
    world.wait(31 * 24 * 3_600_000);
    const parts = await openWorldParts(world);
    await runPurge(parts);
    expect(await parts.connectors.connectionsIn(workspaceId)).toEqual([]);
    const revoked = upstream.requests.filter(({ path }) => path === '/revoke');
    expect(revoked.map(({ body }) => body.get('token'))).toEqual(['refresh-secret']);
  });

  test("leaving a workspace deletes the person's connections there", async () => {
    const admin = await member(WorkspaceRole.ADMIN);
    await complete((await begin()).back);
    await complete((await begin(admin)).back, admin);
    const members = ListWorkspaceMembersRequest.fromPartial({ workspaceId, page, role: WorkspaceRole.ADMIN });
    const [place] = (await world.workspaces.listWorkspaceMembers(members, await world.as(owner))).items;
    const leaving = { workspaceId, memberId: place?.id ?? '', keepGrants: false };
    await world.workspaces.removeWorkspaceMember(leaving, await world.as(admin));
    await eventually(async () => {
      const left = await connections(owner);
      expect(left.items.map(({ connectedBy }) => connectedBy?.id)).toEqual([owner.userId]);
    });
    expect(upstream.requests.filter(({ path }) => path === '/revoke')).toHaveLength(1);
  });

  test('an account that the owner of its address takes over loses the connections of before', async () => {
    await complete((await begin()).back);
    const about = { service: 'identity', type: 'user.reclaimed', subject: owner.userId };
    const reclaimed = (time: string) => createEvent({ ...about, data: { userId: owner.userId, userName: 'O' }, time });
    await world.host.bus.publish([
      reclaimed(new Date(0).toISOString()),
      reclaimed(new Date(world.clock()).toISOString()),
    ]);
    await eventually(async () => expect((await connections(owner)).items).toEqual([]));
    expect(upstream.requests.filter(({ path }) => path === '/revoke')).toHaveLength(1);
  });

  test('deleting a connector deletes its connections and pending authorizations', async () => {
    const { id, back } = await begin();
    await complete(back);
    const open = await begin();
    expect(await remove(owner, id)).toEqual({ id, deleted: true, connectionsRemoved: 1 });
    expect(await remove(owner, open.id)).toEqual({ id: open.id, deleted: true, connectionsRemoved: 0 });
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/token', '/revoke']);
    await expect(complete(open.back)).rejects.toMatchObject({ reason: 'expired_link' });
    expect((await list(owner)).items).toEqual([]);
    expect((await connections(owner)).items).toEqual([]);
  });
});
