import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Agent, newAgent } from '../src/agents.js';
import { eventually } from '../src/eventually.js';
import {
  type Canary,
  type HostileMcp,
  METADATA_PATH,
  RESOURCE_PATH,
  redirectTo,
  startCanary,
  startHostileMcp,
} from '../src/hostile-mcp.js';
import { startMcpServer } from '../src/mcp-server.js';
import { type Person, signUp } from '../src/people.js';
import type { List } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

// Tests an MCP server that names private addresses wherever possible. The canary listens on such an address.

interface McpServer {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly last_error: string | null;
  readonly authorize_url?: string | null;
  readonly tools: readonly { readonly name: string }[];
}

let system: System;
let owner: Person;
let agent: Agent;
let hostile: HostileMcp;
let canary: Canary;
let path: string;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signUp(system, 'Maker');
  agent = await newAgent(owner, { name: 'Helper' });
  path = `/agents/${agent.id}/mcp`;
  hostile = await startHostileMcp();
  canary = await startCanary();
}, 90_000);

afterAll(async () => {
  await hostile?.stop();
  await canary?.stop();
});

beforeEach(async () => {
  hostile.reset();
  await owner.del(`${path}?all=true`);
  expect(canary.takeCount()).toBe(0);
});

/** URLs of the canary, which detects connections to both. */
const SCHEMES = ['http', 'https'] as const;
type Scheme = (typeof SCHEMES)[number];
const canaryAt = (scheme: Scheme, to = '/here') => `${scheme}://127.0.0.1:${canary.port}${to}`;

const add = (more: object = {}) =>
  owner.post<McpServer>(path, { name: 'tickets', url: hostile.url, auth: { type: 'oauth2' }, ...more });

async function serverNow(): Promise<McpServer> {
  const [server] = (await owner.get<List<McpServer>>(path)).data.items;
  if (server === undefined) throw new Error('There is no server.');
  return server;
}

/** Waits until the server was called in the background. */
const probed = () =>
  eventually(async () => {
    const server = await serverNow();
    if (server.status === 'unverified') throw new Error('it was not called yet');
    return server;
  }, 30_000);

/** Returns from the authorization server, like the browser of the owner. */
async function comeBack(authorizeUrl: string): Promise<number> {
  const asked = new URL(authorizeUrl).searchParams;
  const query = new URLSearchParams({ state: asked.get('state') ?? '', code: 'code', iss: hostile.origin });
  const { pathname } = new URL(asked.get('redirect_uri') ?? '');
  const headers = { cookie: owner.session.cookie };
  return (await fetch(`${system.baseUrl}${pathname}?${query}`, { headers, redirect: 'manual' })).status;
}

test('a server without private addresses receives all requests of OAuth', async () => {
  const { data } = await add();
  expect(data.authorize_url).toContain(`${hostile.origin}/authorize?`);
  expect(await comeBack(data.authorize_url ?? '')).toBe(200);
  expect(hostile.asked).toEqual(expect.arrayContaining([RESOURCE_PATH, METADATA_PATH, '/register', '/token']));
});

describe.each(SCHEMES)('a private address by %s is never called', (scheme) => {
  afterAll(() => expect(canary.takeCount()).toBe(0));
  const quiet = () => expect(canary.takeCount()).toBe(0);

  test('as the URL of a server', async () => {
    const made = await add({ url: canaryAt(scheme) });
    expect([made.status, made.error.code]).toEqual([400, 'url_not_allowed']);
    await add();
    const moved = await owner.patch(path, { url: canaryAt(scheme) });
    expect([moved.status, moved.error.code]).toEqual([400, 'url_not_allowed']);
    quiet();
  });

  test('as the target of a redirect of the server', async () => {
    hostile.answers.set('/mcp', redirectTo(canaryAt(scheme)));
    await add({ auth: { type: 'none' } });
    expect((await probed()).status).toBe('error');
    expect(hostile.asked).toContain('/mcp');
    quiet();
  });

  test('as the document of the resource that a refusal names', async () => {
    hostile.answers.set('/mcp', (_, response) => {
      const challenge = `Bearer resource_metadata="${canaryAt(scheme)}"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    const { data } = await add();
    expect(data.status).toBe('auth_required');
    expect(hostile.asked).toContain('/mcp');
    quiet();
  });

  test.each([RESOURCE_PATH, METADATA_PATH])('as the target of a redirect of %s', async (document) => {
    hostile.answers.set(document, redirectTo(canaryAt(scheme)));
    if (document === RESOURCE_PATH)
      hostile.answers.set('/.well-known/oauth-protected-resource', redirectTo(canaryAt(scheme)));
    await add();
    expect(hostile.asked).toContain(document);
    quiet();
  });

  test('as the authorization server', async () => {
    hostile.resource = { ...hostile.resource, authorization_servers: [canaryAt(scheme, '')] };
    const { data } = await add();
    expect([data.status, data.authorize_url ?? null]).toEqual(['auth_required', null]);
    quiet();
  });

  test.each(['registration_endpoint', 'authorization_endpoint'])('as the %s', async (endpoint) => {
    hostile.metadata = { ...hostile.metadata, [endpoint]: canaryAt(scheme) };
    const { data } = await add();
    expect([data.status, data.authorize_url ?? null]).toEqual(['auth_required', null]);
    expect(hostile.asked).toContain(METADATA_PATH);
    quiet();
  });

  test('as the target of a redirect of the registration', async () => {
    hostile.answers.set('/register', redirectTo(canaryAt(scheme)));
    const { data } = await add();
    expect([data.status, data.authorize_url ?? null]).toEqual(['auth_required', null]);
    expect(hostile.asked).toContain('/register');
    quiet();
  });

  test('as the token_endpoint', async () => {
    hostile.metadata = { ...hostile.metadata, token_endpoint: canaryAt(scheme) };
    const { data } = await add();
    expect(await comeBack(data.authorize_url ?? '')).not.toBe(200);
    expect((await serverNow()).status).toBe('auth_required');
    quiet();
  });

  test('as the target of a redirect of the token endpoint', async () => {
    hostile.answers.set('/token', redirectTo(canaryAt(scheme)));
    const { data } = await add();
    expect(await comeBack(data.authorize_url ?? '')).not.toBe(200);
    expect(hostile.asked).toContain('/token');
    quiet();
  });

  test('as the $ref of a tool or of a result', async () => {
    const inputSchema = { type: 'object' as const, properties: { a: { $ref: canaryAt(scheme) } } };
    const good = { name: 'good', description: 'Finds.' };
    const remote = await startMcpServer([good, { name: 'bad', description: 'Finds.', inputSchema }]);
    try {
      await add({ url: remote.url, auth: { type: 'none' } });
      const server = await probed();
      expect([server.status, server.tools.map(({ name }) => name)]).toEqual(['connected', ['good']]);
    } finally {
      await remote.stop();
    }
    const body = { input: 'What?', output_schema: { $ref: canaryAt(scheme) } };
    const refused = await owner.post('/agent-runs', body);
    expect([refused.status, refused.error.code]).toEqual([400, 'invalid_output_schema']);
    quiet();
  });
});
