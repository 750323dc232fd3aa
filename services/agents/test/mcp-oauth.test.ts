import { createHash } from 'node:crypto';
import type { AppError } from '@commonplace/kit/errors';
import { createEvent } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { McpAuthType, McpStatus } from '@commonplace/proto/agents/v1/mcp_server.js';
import {
  CreateMcpServerRequest,
  ListMcpServersRequest,
  UpdateMcpServerRequest,
} from '@commonplace/proto/agents/v1/mcp_service.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runTool } from '../src/mcp/call.js';
import { seal, unseal } from '../src/mcp/secrets.js';
import { accessToken } from '../src/mcp/tokens.js';
import { testMcpGuard } from './mcp-guard.js';
import { startOAuthServer, type TestOAuthServer } from './mcp-oauth-server.js';
import { startMcpServer, type TestServer } from './mcp-servers.js';
import { type McpStage, openMcpStage } from './mcp-stage.js';

let stage: McpStage;
beforeAll(async () => {
  stage = await openMcpStage({ COMMONPLACE_PUBLIC_URL: 'https://wiki.example.com' });
});
afterAll(() => stage?.close());

let oauth: TestOAuthServer;
let server: TestServer;
/** The metadata in which the server names its authorization server. */
let resourceMetadata: Record<string, unknown>;
beforeEach(async () => {
  oauth = await startOAuthServer();
  server = await startMcpServer('modern', [{ name: 'find', call: () => 'found' }]);
  resourceMetadata = { resource: server.url, authorization_servers: [oauth.issuer] };
  server.intercept = ({ path, headers }, response) => {
    const json = { 'content-type': 'application/json' };
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      return response.writeHead(200, json).end(JSON.stringify(resourceMetadata)) !== undefined;
    }
    if (path.startsWith('/.well-known/')) return response.writeHead(404).end() !== undefined;
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    return !oauth.good.has(token) && response.writeHead(401).end() !== undefined;
  };
});
afterEach(async () => {
  const all = { agentId: stage.agent.id, all: true, serverId: undefined, name: undefined };
  await stage.client.deleteMcpServers(all, await stage.as(stage.owner));
  expect(await stage.parts.mcpGrants.count({})).toBe(0);
  await server.close();
  await oauth.close();
});

const create = async (more: object = {}) =>
  stage.client.createMcpServer(
    CreateMcpServerRequest.fromPartial({
      ...{ agentId: stage.agent.id, url: server.url, name: 'tickets', auth: { type: McpAuthType.OAUTH2 } },
      ...more,
    }),
    await stage.as(stage.owner),
  );

const complete = async (back: URL, caller = stage.owner, change: object = {}) => {
  const given = (name: string) => back.searchParams.get(name) ?? '';
  const redirectKey = back.pathname.slice('/auth/mcp/callback'.length).replace('/', '');
  const request = { state: given('state'), code: given('code'), iss: given('iss'), error: '', redirectKey, ...change };
  return stage.client.completeMcpAuthorization(request, await stage.as(caller));
};
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: AppError) => error.reason,
  );

async function authorized(): Promise<string> {
  const made = await create();
  await complete(oauth.allow(made.authorizeUrl ?? ''));
  const record = await stage.probe(made.id);
  expect(record.status).toBe('connected');
  return made.id;
}

describe('an authorization', () => {
  test('is required before the tools are listed again', async () => {
    const { id } = await create();
    const refresh = async (more: object = {}) => {
      const fields = { agentId: stage.agent.id, serverId: id, refresh: true, ...more };
      const request = {
        ...UpdateMcpServerRequest.fromPartial(fields),
        updateMask: Object.keys(more).concat('refresh'),
      };
      return stage.client.updateMcpServer(request, await stage.as(stage.owner));
    };
    expect(await reasonOf(refresh())).toBe('mcp_auth_required');
    expect((await stage.stored(id)).status).toBe('auth_required');
    expect((await refresh({ reauthorize: true })).authorizeUrl).toContain(oauth.issuer);
  });

  test('is requested with PKCE, the resource and a state, and completed once by the person who began it', async () => {
    const made = await create();
    expect(made).toMatchObject({ status: McpStatus.AUTH_REQUIRED, auth: { isSet: false } });
    const asked = new URL(made.authorizeUrl ?? '').searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('resource')).toBe(server.url);
    expect(asked.get('redirect_uri')).toBe('https://wiki.example.com/auth/mcp/callback');
    const back = oauth.allow(made.authorizeUrl ?? '');
    expect(await reasonOf(complete(back, stage.stranger))).toBe('expired_link');
    expect(await reasonOf(complete(back, stage.owner, { state: 'another' }))).toBe('expired_link');
    expect(await complete(back)).toMatchObject({ agentName: 'Helper', serverName: 'tickets' });
    expect(await reasonOf(complete(back))).toBe('expired_link');
    expect((await stage.probe(made.id)).status).toBe('connected');
    const { items } = await stage.client.listMcpServers(
      ListMcpServersRequest.fromPartial({ agentId: stage.agent.id }),
      await stage.as(stage.owner),
    );
    expect(items[0]).toMatchObject({ status: McpStatus.CONNECTED, auth: { isSet: true }, authorizeUrl: undefined });
    const stored = JSON.stringify([
      await stage.parts.mcpGrants.find({ where: {}, limit: 10 }),
      await stage.parts.mcpAuthorizations.find({ where: {}, limit: 10 }),
    ]);
    for (const token of oauth.good) expect(stored).not.toContain(token);
    const state = back.searchParams.get('state') ?? '';
    expect(stored).not.toContain(state);
    expect(
      await stage.parts.mcpAuthorizations.get(createHash('sha256').update(state).digest('base64url')),
    ).toBeUndefined();
  });

  test('whose redirect arrives twice at once sends its code once', async () => {
    const made = await create();
    const back = oauth.allow(made.authorizeUrl ?? '');
    const outcomes = await Promise.all([1, 2, 3].map(() => reasonOf(complete(back))));
    expect(outcomes.sort()).toEqual(['expired_link', 'expired_link', 'none']);
    expect(oauth.requests.filter(({ path }) => path === '/token')).toHaveLength(1);
    expect((await stage.probe(made.id)).status).toBe('connected');
  });

  test('that comes from another server than requested is not used', async () => {
    const made = await create();
    const back = oauth.allow(made.authorizeUrl ?? '');
    const tokens = () => oauth.requests.filter(({ path }) => path === '/token').length;
    expect(await reasonOf(complete(back, stage.owner, { iss: 'https://evil.example' }))).toBe('connection_inactive');
    expect(await reasonOf(complete(back, stage.owner, { iss: '' }))).toBe('connection_inactive');
    expect(tokens()).toBe(0);
    expect(await reasonOf(complete(back))).toBe('none');
    expect(tokens()).toBe(1);
  });

  test('of a server that does not name itself returns to a redirect URI of that issuer only', async () => {
    const { authorization_response_iss_parameter_supported: _, ...metadata } = oauth.metadata;
    oauth.metadata = metadata;
    const evil = await startOAuthServer();
    const { authorization_response_iss_parameter_supported: __, ...evilMetadata } = evil.metadata;
    evil.metadata = evilMetadata;
    const redirectOf = ({ authorizeUrl = '' }: { authorizeUrl?: string | undefined }) =>
      new URL(authorizeUrl).searchParams.get('redirect_uri') ?? '';
    const honest = await create({ name: 'honest' });
    resourceMetadata = { ...resourceMetadata, authorization_servers: [evil.issuer] };
    const attacked = await create({ name: 'attacked' });
    expect(redirectOf(honest)).toMatch(/^https:\/\/wiki\.example\.com\/auth\/mcp\/callback\/[\w-]{22}$/);
    expect(redirectOf(attacked)).not.toBe(redirectOf(honest));

    // The attacker's server sends the person on to the honest one, as this installation's client there.
    const sent = new URL(honest.authorizeUrl ?? '');
    for (const name of ['state', 'code_challenge']) {
      sent.searchParams.set(name, new URL(attacked.authorizeUrl ?? '').searchParams.get(name) ?? '');
    }
    const back = oauth.allow(sent.href);
    back.searchParams.delete('iss');
    expect(await reasonOf(complete(back))).toBe('connection_inactive');
    expect(evil.requests.filter(({ path }) => path === '/token')).toEqual([]);
    const own = oauth.allow(honest.authorizeUrl ?? '');
    own.searchParams.delete('iss');
    expect(await reasonOf(complete(own, stage.owner, { redirectKey: '' }))).toBe('connection_inactive');
    expect(await reasonOf(complete(own))).toBe('none');
    await evil.close();
  });

  test('uses the client of the owner, else the metadata document of this installation, else registers', async () => {
    const clientOf = (made: { authorizeUrl?: string | undefined }) =>
      new URL(made.authorizeUrl ?? '').searchParams.get('client_id');
    const registered = () => oauth.requests.filter(({ path }) => path === '/register').length;
    const auth = { type: McpAuthType.OAUTH2, clientId: 'mine', clientSecret: 'secret', scopes: ['a', 'b'] };
    const own = await create({ auth, name: 'own' });
    expect([clientOf(own), registered()]).toEqual(['mine', 0]);
    expect(new URL(own.authorizeUrl ?? '').searchParams.get('scope')).toBe('a b');
    expect(clientOf(await create({ name: 'dcr' }))).toMatch(/^client-/);
    expect(registered()).toBe(1);
    oauth.metadata = { ...oauth.metadata, client_id_metadata_document_supported: true };
    const document = await create({ name: 'cimd' });
    expect(clientOf(document)).toBe('https://wiki.example.com/.well-known/oauth-client/mcp.json');
    expect(registered()).toBe(1);
    oauth.metadata = { ...oauth.metadata, authorization_response_iss_parameter_supported: false };
    expect(clientOf(await create({ name: 'cimd without iss' }))).toMatch(/\/oauth-client\/mcp\/[\w-]{22}\.json$/);
    const mine = new URL((await create({ auth, name: 'own without iss' })).authorizeUrl ?? '').searchParams;
    expect(mine.get('redirect_uri')).toBe('https://wiki.example.com/auth/mcp/callback');
    expect(registered()).toBe(1);
  });

  test('is requested with the metadata and the scope that the server names when it refuses a call', async () => {
    const { intercept } = server;
    server.intercept = (request, response) => {
      const { path } = request;
      const json = { 'content-type': 'application/json' };
      if (path === '/named') return response.writeHead(200, json).end(JSON.stringify(resourceMetadata)) !== undefined;
      if (path.startsWith('/.well-known/')) return response.writeHead(404).end() !== undefined;
      if (path !== '/mcp') return intercept(request, response);
      const challenge = `Bearer resource_metadata="${server.origin}/named", scope="tickets:read"`;
      return response.writeHead(401, { 'www-authenticate': challenge }).end() !== undefined;
    };
    const { authorizeUrl = '' } = await create();
    expect(authorizeUrl).toContain(oauth.issuer);
    expect(new URL(authorizeUrl).searchParams.get('scope')).toBe('tickets:read');
  });

  test('starts over on request, and ends the previous grant', async () => {
    const id = await authorized();
    const request = UpdateMcpServerRequest.fromPartial({
      ...{ agentId: stage.agent.id, serverId: id, reauthorize: true, updateMask: ['reauthorize'] },
    });
    const again = await stage.client.updateMcpServer(request, await stage.as(stage.owner));
    expect([again.status, again.authorizeUrl === undefined]).toEqual([McpStatus.AUTH_REQUIRED, false]);
    expect(await stage.parts.mcpGrants.count({})).toBe(0);
    await complete(oauth.allow(again.authorizeUrl ?? ''));
    expect((await stage.probe(id)).status).toBe('connected');
  });

  test('uses the client that is already registered for the server, and deletes it with the server', async () => {
    const registered = () => oauth.requests.filter(({ path }) => path === '/register').length;
    const id = await authorized();
    const request = UpdateMcpServerRequest.fromPartial({
      ...{ agentId: stage.agent.id, serverId: id, reauthorize: true, updateMask: ['reauthorize'] },
    });
    const again = async () => (await stage.client.updateMcpServer(request, await stage.as(stage.owner))).authorizeUrl;
    for (let i = 0; i < 3; i++) await complete(oauth.allow((await again()) ?? ''));
    expect(registered()).toBe(1);
    const [client] = await stage.parts.mcpClients.find({ where: { serverId: id }, limit: 5 });
    const clientId = new URL((await again()) ?? '').searchParams.get('client_id') ?? '';
    expect(JSON.stringify(client)).not.toContain(clientId);
    await create({ name: 'other' });
    expect(registered()).toBe(2);
    const removed = { agentId: stage.agent.id, all: false, serverId: id, name: undefined };
    await stage.client.deleteMcpServers(removed, await stage.as(stage.owner));
    expect(await stage.parts.mcpClients.count({ serverId: id })).toBe(0);
  });

  test.each([
    ['that nobody has completed an authorization with', { askedAt: new Date(Date.now() - 11 * 60_000).toISOString() }],
    ['whose secret has expired', { client_secret_expires_at: 1 }],
  ])('registers a client again %s', async (_, given: { askedAt?: string; client_secret_expires_at?: number }) => {
    const { askedAt, ...more } = given;
    const id = await authorized();
    const [client] = await stage.parts.mcpClients.find({ where: { serverId: id }, limit: 5 });
    if (client === undefined) throw new Error('there is no client');
    const { envelope, store, mcpClients } = stage.parts;
    const sealed = seal(envelope, client, { ...unseal<object>(envelope, client, client.sealed), ...more });
    await inWork(store, async (work) => work.replace(mcpClients, client, { ...client, sealed, askedAt }));
    const request = UpdateMcpServerRequest.fromPartial({
      ...{ agentId: stage.agent.id, serverId: id, reauthorize: true, updateMask: ['reauthorize'] },
    });
    const { authorizeUrl } = await stage.client.updateMcpServer(request, await stage.as(stage.owner));
    expect(oauth.requests.filter(({ path }) => path === '/register')).toHaveLength(2);
    await complete(oauth.allow(authorizeUrl ?? ''));
    const kept = await mcpClients.find({ where: { serverId: id }, limit: 5 });
    expect(kept.map((one) => one.askedAt)).toEqual([undefined]);
  });

  test('registers a client again that the authorization server no longer knows', async () => {
    oauth.expiresIn = 1;
    const id = await authorized();
    oauth.forgetsClients = true;
    const [grant] = await stage.parts.mcpGrants.find({ where: { serverId: id }, limit: 1 });
    const { signal } = new AbortController();
    await expect(accessToken(stage.parts, grant?.id ?? '', undefined, signal)).rejects.toMatchObject({ kind: 'auth' });
    expect(await stage.parts.mcpClients.count({ serverId: id })).toBe(0);
  });

  test('that was begun for another URL of the server is not completed', async () => {
    const made = await create({ perUserAuth: true });
    await complete(oauth.allow(made.authorizeUrl ?? ''));
    await stage.probe(made.id);
    const other = await startMcpServer('modern', []);
    const update = UpdateMcpServerRequest.fromPartial({
      ...{ agentId: stage.agent.id, serverId: made.id, url: other.url, updateMask: ['url'] },
    });
    const { intercept } = server;
    server.intercept = (request, response) => {
      if (!request.path.startsWith('/.well-known/oauth-protected-resource')) return intercept(request, response);
      server.intercept = intercept;
      const moved = stage.as(stage.owner).then((owner) => stage.client.updateMcpServer(update, owner));
      void moved.then(() => intercept(request, response));
      return true;
    };
    // The owner moves the server while the person is asked to authorize the former one.
    const { question } = await runTool(stage.parts, {
      ...{ serverId: made.id, toolName: 'find', args: {}, toolCallId: 'c', signal: new AbortController().signal },
      run: { id: 'r', tenant: stage.orgId, userId: stage.stranger.userId },
    });
    const back = oauth.allow(question?.url ?? '');
    expect(await reasonOf(complete(back, stage.stranger))).toBe('expired_link');
    expect(await stage.parts.mcpGrants.count({})).toBe(0);
    expect(oauth.requests.filter(({ path }) => path === '/token')).toHaveLength(1);
    await other.close();
  });

  test('for a resource that the server does not own is refused', async () => {
    resourceMetadata = { ...resourceMetadata, resource: 'https://bank.example/' };
    const made = await create();
    expect([made.authorizeUrl, made.lastError]).toEqual([undefined, expect.stringContaining('resource')]);
  });
});

describe('tokens', () => {
  const call = (serverId: string, userId = stage.owner.userId, more: object = {}) =>
    runTool(stage.parts, {
      ...{ serverId, toolName: 'find', args: {}, toolCallId: 'c', signal: new AbortController().signal },
      run: { id: 'r', tenant: stage.orgId, userId },
      ...more,
    });

  test('whose lifetime is absurd are used', async () => {
    oauth.expiresIn = 1e15;
    const id = await authorized();
    const [grant] = await stage.parts.mcpGrants.find({ where: { serverId: id }, limit: 1 });
    expect(Date.parse(grant?.expiresAt ?? '')).toBeGreaterThan(Date.now());
  });

  test('that have expired are refreshed once, for all concurrent calls and processes', async () => {
    oauth.expiresIn = 1;
    const id = await authorized();
    oauth.refreshMs = 100;
    oauth.expiresIn = 3_600;
    const [grant] = await stage.parts.mcpGrants.find({ where: { serverId: id }, limit: 1 });
    // A second set of parts on the same store simulates another process.
    const mcpGuard = await testMcpGuard(stage.parts.settings);
    const other = { ...stage.parts, mcpGuard };
    const before = oauth.requests.filter(({ path }) => path === '/token').length;
    const asked = Array.from({ length: 12 }, (_, i) =>
      accessToken(i % 2 === 0 ? stage.parts : other, grant?.id ?? '', undefined, new AbortController().signal),
    );
    const tokens = await Promise.all(asked);
    await mcpGuard.close();
    expect(new Set(tokens).size).toBe(1);
    expect(oauth.requests.filter(({ path }) => path === '/token').length - before).toBe(1);
    expect(oauth.replayed).toEqual([]);
    expect(await call(id)).toMatchObject({ text: 'found', isError: false });
  });

  test('that the server refuses are refreshed, and the call is repeated', async () => {
    const id = await authorized();
    oauth.good.clear();
    expect(await call(id)).toMatchObject({ text: 'found', isError: false });
    expect(oauth.replayed).toEqual([]);
    // The rotated token was stored, so that the next call needs no refresh.
    const asked = oauth.requests.length;
    expect(await call(id)).toMatchObject({ text: 'found' });
    expect(oauth.requests.length).toBe(asked);
  });

  test('whose refresh a dead process had started are refreshed by another one', async () => {
    oauth.expiresIn = 1;
    const id = await authorized();
    oauth.expiresIn = 3_600;
    const [grant] = await stage.parts.mcpGrants.find({ where: { serverId: id }, limit: 1 });
    if (grant === undefined) throw new Error('there is no grant');
    const work = stage.parts.store.begin();
    const refresh = { holder: 'dead', until: new Date(Date.now() - 1).toISOString() };
    work.replace(stage.parts.mcpGrants, grant, { ...grant, refresh });
    await work.commit();
    expect(await call(id)).toMatchObject({ text: 'found' });
  });

  test('that were revoked require the owner to authorize again', async () => {
    const id = await authorized();
    const [grant] = await stage.parts.mcpGrants.find({ where: { serverId: id }, limit: 1 });
    oauth.revoke();
    const result = await call(id);
    expect([result.isError, result.text]).toEqual([true, expect.stringContaining('has to authorize')]);
    expect((await stage.parts.mcpGrants.get(grant?.id ?? ''))?.isRevoked).toBe(true);
    expect((await stage.stored(id)).status).toBe('auth_required');
  });

  test("are each person's own if the owner has set that, and each person has to authorize", async () => {
    const made = await create({ perUserAuth: true });
    await complete(oauth.allow(made.authorizeUrl ?? ''));
    await stage.probe(made.id);
    expect(await call(made.id)).toMatchObject({ text: 'found' });
    const before = server.requests.length;
    const asked = await call(made.id, stage.stranger.userId);
    const asks = server.requests.slice(before);
    expect(asks.filter(({ rpc, headers }) => rpc === 'tools/call' || headers.authorization !== undefined)).toEqual([]);
    expect(asked.question?.url).toContain(`${oauth.issuer}/authorize?`);
    const back = oauth.allow(asked.question?.url ?? '');
    expect(await reasonOf(complete(back))).toBe('expired_link');
    await complete(back, stage.stranger);
    const state = asked.question?.state;
    expect(await call(made.id, stage.stranger.userId, { state })).toMatchObject({ text: 'found' });
  });
});

test('an account that the owner of its address takes over loses the grants of before', async () => {
  const id = await authorized();
  const { userId } = stage.owner;
  const about = { service: 'identity', type: 'user.reclaimed', subject: userId };
  const reclaimed = (time: string) => createEvent({ ...about, data: { userId, userName: 'Owner' }, time });
  const { bus } = stage.stage.host;
  const seen = await countOf();
  await bus.publish([reclaimed(new Date(0).toISOString())]);
  await bus.publish([createEvent({ ...about, subject: 'other', data: { userId: 'other', userName: 'O' } })]);
  expect(await countOf()).toBe(seen);
  await bus.publish([reclaimed(new Date().toISOString())]);
  await eventually(async () => expect(await countOf()).toBe(0));

  function countOf() {
    return stage.parts.mcpGrants.count({ serverId: id });
  }
});

describe('OAuth requests', () => {
  const PRIVATE = ['https://169.254.169.254/x', 'http://10.0.0.1/x', 'https://[::1]/x', 'http://localhost:1/x'];

  test.each(PRIVATE)('never go to %s as the authorization server', async (url) => {
    resourceMetadata = { ...resourceMetadata, authorization_servers: [url] };
    const made = await create();
    expect([made.authorizeUrl, made.status]).toEqual([undefined, McpStatus.AUTH_REQUIRED]);
    expect(made.lastError).toBeTruthy();
  });

  test.each(PRIVATE)('never go to %s to register, to authorize, or for tokens', async (url) => {
    const metadata = oauth.metadata;
    for (const name of ['registration_endpoint', 'authorization_endpoint']) {
      oauth.metadata = { ...metadata, [name]: url };
      expect((await create({ name: name.replace('_', '-') })).authorizeUrl).toBeUndefined();
    }
    oauth.metadata = { ...metadata, token_endpoint: url };
    const made = await create({ name: 'tokens' });
    const back = oauth.allow(made.authorizeUrl ?? '');
    expect(await reasonOf(complete(back))).toBe('connection_inactive');
  });

  test('follow no redirect to another host, and abort endless documents', async () => {
    const { intercept } = server;
    server.intercept = (request, response) => {
      if (!request.path.startsWith('/.well-known/oauth-protected-resource')) return intercept(request, response);
      return response.writeHead(302, { location: 'http://169.254.169.254/' }).end() !== undefined;
    };
    expect((await create({ name: 'redirects' })).authorizeUrl).toBeUndefined();
    server.intercept = (request, response) => {
      if (!request.path.startsWith('/.well-known/')) return intercept(request, response);
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
      return true;
    };
    expect((await create({ name: 'endless' })).authorizeUrl).toBeUndefined();
  });
});
