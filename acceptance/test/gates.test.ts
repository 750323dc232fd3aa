import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api, type Credential, type Reply } from '../src/client.js';
import { type Endpoint, listEndpoints } from '../src/endpoints.js';
import { inventedKey, mistypedKey, publicIdOf } from '../src/keys.js';
import { BEYOND, type Call, methodOf, NOT_FOUND, type Outcome, outcomeOf, type Row, rows } from '../src/matrix.js';
import { newKey, type Person } from '../src/people.js';
import type { Org } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { createWorld, type Place, type World } from '../src/world.js';

let system: System;
let world: World;
let endpoints: readonly Endpoint[];
/** An Org of the boss, and one of the stranger. */
let otherOrg: Org;
let strangersOrg: Org;

beforeAll(async () => {
  system = await standingSystem();
  world = await createWorld(system);
  endpoints = await listEndpoints(system);
  otherOrg = (await world.boss.post<Org>('/orgs', { name: 'Other' })).data;
  strangersOrg = (await world.stranger.post<Org>('/orgs', { name: 'Strange' })).data;
}, 120_000);

const prepared = new Map<Row, Map<Place, Call | Promise<Call>>>();

/**
 * What a row asks for, to be refused: it changes nothing, so one for each place serves all who are. One that its caller
 * prepares is their own.
 */
function refusable(row: Row, place: Place, by: Api = world.boss): Call | Promise<Call> {
  if (row.request.length > 1) return row.request(place, by);
  const here = prepared.get(row) ?? new Map<Place, Call | Promise<Call>>();
  prepared.set(row, here);
  const call = here.get(place) ?? row.request(place, by);
  here.set(place, call);
  return call;
}

/** Makes a row's request and says in one line what is not as it should be. */
async function judge(row: Row, who: string, place: Place, by: Api, expected: Outcome): Promise<string[]> {
  const isRefused = expected.status >= 400;
  // What is done may take away what was prepared.
  if (!isRefused) prepared.delete(row);
  const { path, body } = await (isRefused ? refusable(row, place, by) : row.request(place, by));
  return verdict(row, who, await by.send(methodOf(row), path, body), expected);
}

function verdict(row: Row, who: string, { status, body, text }: Reply<unknown>, expected: Outcome): string[] {
  const code = body.error?.code;
  const later = row.orLater === true && expected.status === row.success && status === 202;
  if ((status === expected.status || later) && code === expected.code) return [];
  const what = `${row.endpoint}${row.about === undefined ? '' : ` (${row.about})`}`;
  return [
    `${what} by ${who}: ${status} ${code ?? ''}, not ${expected.status} ${expected.code ?? ''} — ${text.slice(0, 300)}`,
  ];
}

const named = rows.map((row) => [`${row.endpoint}${row.about === undefined ? '' : `, ${row.about}`}`, row] as const);

test('every endpoint has a row, and every row an endpoint', () => {
  expect([...new Set(rows.map(({ endpoint }) => endpoint))].sort()).toEqual(endpoints.map(({ name }) => name).sort());
});

test('the capabilities tell of the same endpoints and scopes as the description', async () => {
  interface Capabilities {
    readonly endpoints: readonly { readonly method: string; readonly path: string; readonly scope: string }[];
  }
  const { data } = await api(system, system.owner.apiKey).get<Capabilities>('/capabilities');
  const told = data.endpoints.map(({ method, path, scope }) => `${method} ${path} ${scope}`);
  expect(told.sort()).toEqual(endpoints.map(({ name, scope }) => `${name} ${scope}`).sort());
});

describe('roles', () => {
  test.each(named)('%s', async (_, row) => {
    const wrong: string[] = [];
    for (const caller of world.callers) {
      wrong.push(...(await judge(row, caller.name, caller.place, caller.api, outcomeOf(row, caller))));
    }
    wrong.push(...(await judge(row, 'stranger', world.closed, world.stranger, outcomeOf(row, {}))));
    expect(wrong).toEqual([]);
  });
});

describe('roles in a Personal workspace', () => {
  const below = named.filter(([, { gate }]) =>
    ['workspace', 'resource', 'tenant', 'trashed', 'theirs'].includes(gate.kind),
  );

  test.each(below)('%s', async (_, row) => {
    const wrong: string[] = [];
    for (const { name, api: by, workspace } of world.callers) {
      if (name === 'Org default') continue;
      const roles = workspace === undefined ? {} : { workspace };
      wrong.push(...(await judge(row, name, world.personal, by, outcomeOf(row, roles))));
    }
    const { key } = await newKey(world.boss, world.everyScope, { org_id: world.closed.org.id });
    wrong.push(...(await judge(row, 'a key of an Org', world.personal, api(system, key), BEYOND)));
    wrong.push(...(await judge(row, 'stranger', world.personal, world.stranger, NOT_FOUND)));
    expect(wrong).toEqual([]);
  });
});

describe('credentials that are not good', () => {
  const bad: [name: string, code: string, credential: () => Promise<Credential>][] = [
    ['nobody', 'missing_credentials', async () => undefined],
    ['a key that is no key', 'invalid_credentials', async () => 'wsk_p_short'],
    ['a mistyped key', 'invalid_credentials', async () => mistypedKey(system.owner.apiKey)],
    ['an unknown key', 'invalid_credentials', async () => inventedKey()],
    ['a wrong secret', 'invalid_credentials', async () => inventedKey(publicIdOf(system.owner.apiKey))],
    ['something else', 'invalid_credentials', async () => 'abc.def.ghi'],
    ['an unknown session', 'invalid_credentials', async () => ({ cookie: 'session=abcdef', csrf: 'abcdef' })],
    ['a revoked key', 'revoked_key', revokedKey],
    ['an expired key', 'expired_credentials', expiredKey],
  ];

  async function revokedKey(): Promise<string> {
    const { id, key } = await newKey(world.boss, world.everyScope);
    await world.boss.del(`/api-keys/${id}`);
    return key;
  }

  async function expiredKey(): Promise<string> {
    const { key } = await newKey(world.boss, world.everyScope, {
      expires_at: new Date(Date.now() + 500).toISOString(),
    });
    await sleep(1600);
    return key;
  }

  test.each(bad)('%s is answered 401 %s everywhere', async (name, code, credential) => {
    const by = api(system, await credential());
    const wrong: string[] = [];
    for (const row of rows) {
      const { path, body } = await refusable(row, world.closed);
      const reply = await by.send(methodOf(row), path, body);
      wrong.push(...verdict(row, name, reply, { status: 401, code }));
      if (!reply.headers.get('www-authenticate')?.startsWith('Bearer')) wrong.push(`${row.endpoint}: no challenge`);
    }
    expect(wrong).toEqual([]);
  });

  test('a session and a key at once are answered 400 multiple_credentials', async () => {
    const headers = { Cookie: world.boss.session.cookie };
    const reply = await api(system, system.owner.apiKey).get('/me', { headers });
    expect([reply.status, reply.error.code]).toEqual([400, 'multiple_credentials']);
  });
});

describe('scopes', () => {
  test('a key with every scope but the one needed is refused, and told which', async () => {
    const scopes = [...new Set(endpoints.map(({ scope }) => scope))].filter((scope) => scope !== 'none');
    const wrong: string[] = [];
    for (const scope of scopes) {
      const here = endpoints.filter(({ scope: needed }) => needed === scope);
      const opening = new Set([scope, ...here.flatMap(({ also }) => also)]);
      const others = world.everyScope.filter((one) => !opening.has(one));
      const { id, key } = await newKey(world.boss, others, { org_id: world.closed.org.id });
      for (const { name } of here) {
        const row = rows.find(({ endpoint }) => endpoint === name) as Row;
        const { path, body } = await refusable(row, world.closed);
        const reply = await api(system, key).send(methodOf(row), path, body);
        wrong.push(...verdict(row, 'that key', reply, { status: 403, code: 'insufficient_scope' }));
        const challenge = reply.headers.get('www-authenticate') ?? '';
        if (!challenge.includes(`scope="${scope}"`)) wrong.push(`${name}: the challenge does not name ${scope}`);
        if (!reply.text.includes(`"${scope}"`)) wrong.push(`${name}: the body does not name ${scope}`);
      }
      await world.boss.del(`/api-keys/${id}`);
    }
    expect(wrong).toEqual([]);
  });

  test('a key with that scope alone, or one that opens it as well, gets through that gate', async () => {
    const wrong: string[] = [];
    for (const { name, scope } of endpoints.flatMap((one) => [one, ...one.also.map((scope) => ({ ...one, scope }))])) {
      if (scope === 'none') continue;
      const row = rows.find(({ endpoint }) => endpoint === name) as Row;
      const { id, key } = await newKey(world.boss, [scope], { org_id: world.closed.org.id });
      const { path, body } = await row.request(world.closed, world.boss);
      const reply = await api(system, key).send(methodOf(row), path, body);
      if (reply.body.error?.code === 'insufficient_scope') wrong.push(`${name} ${reply.text}`);
      await world.boss.del(`/api-keys/${id}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('tenants', () => {
  const isAddressed = ({ gate }: Row) => gate.kind !== 'self';

  /** What a key of a person answers who may do everything in the Org, and whose key is of another tenant. */
  function beyond(row: Row): Outcome {
    return isAddressed(row) ? BEYOND : outcomeOf(row, {});
  }

  /** Clients with keys of every scope, by whose and of which tenant they are. */
  let keys: Readonly<Record<'personal' | 'other' | 'own' | 'elsewhere' | 'stranger' | 'strange', Api>>;

  beforeAll(async () => {
    const { boss, stranger, closed, open, everyScope } = world;
    const key = async (by: Person, more: object = {}) => api(system, (await newKey(by, everyScope, { ...more })).key);
    const workspaces = { workspace_ids: [open.workspace.id] };
    keys = {
      personal: await key(boss),
      other: await key(boss, { org_id: otherOrg.id }),
      own: await key(boss, { org_id: closed.org.id }),
      elsewhere: await key(boss, { org_id: closed.org.id, ...workspaces }),
      stranger: await key(stranger),
      strange: await key(stranger, { org_id: strangersOrg.id }),
    };
  });

  test.each(named)('%s', async (_, row) => {
    const { closed } = world;
    const ask = (who: keyof typeof keys, expected: Outcome) => judge(row, `key ${who}`, closed, keys[who], expected);
    const orgKey = (expected: Outcome) => (row.personal ? BEYOND : expected);
    const wrong = [
      ...(await ask('personal', beyond(row))),
      ...(await ask('other', orgKey(beyond(row)))),
      ...(await ask('own', orgKey(outcomeOf(row, { org: 'owner', workspace: 'owner' })))),
      ...(await ask('stranger', outcomeOf(row, {}))),
      ...(await ask('strange', orgKey(outcomeOf(row, {})))),
    ];
    if (['workspace', 'resource', 'tenant', 'trashed', 'theirs'].includes(row.gate.kind))
      wrong.push(...(await ask('elsewhere', BEYOND)));
    expect(wrong).toEqual([]);
  });

  test('X-Tenant and X-Workspace-Id narrow, and contradictions are refused', async () => {
    const { boss, closed, open } = world;
    const ask = async (headers: Record<string, string>) => {
      const { status, body } = await boss.get(`/workspaces/${closed.workspace.id}`, { headers });
      return [status, body.error?.code];
    };
    expect(await ask({ 'X-Tenant': closed.org.id })).toEqual([200, undefined]);
    expect(await ask({ 'X-Tenant': 'personal' })).toEqual([403, 'tenant_boundary']);
    expect(await ask({ 'X-Tenant': otherOrg.id })).toEqual([403, 'tenant_boundary']);
    expect(await ask({ 'X-Tenant': strangersOrg.id })).toEqual([404, 'not_found']);
    expect(await ask({ 'X-Tenant': randomUUID() })).toEqual([404, 'not_found']);
    expect(await ask({ 'X-Workspace-Id': closed.workspace.id })).toEqual([200, undefined]);
    expect(await ask({ 'X-Workspace-Id': open.workspace.id })).toEqual([403, 'tenant_boundary']);
  });
});

describe('what is not theirs', () => {
  const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  // A form's token is public: whoever has it sees that there is a form.
  const addressed = named.filter(([, { gate }]) => gate.kind !== 'self' && gate.kind !== 'tenant-open');

  test.each(addressed)('%s: a stranger can’t tell a record from none', async (_, row) => {
    const { stranger, closed } = world;
    const { path, body } = await refusable(row, closed);
    const invented = JSON.parse(JSON.stringify({ path, body }).replace(UUID, () => randomUUID())) as Call;
    const real = await stranger.send(methodOf(row), path, body);
    const random = await stranger.send(methodOf(row), invented.path, invented.body);
    expect([real.status, withoutRequestId(real)]).toEqual([random.status, withoutRequestId(random)]);
    expect(verdict(row, 'stranger', real, NOT_FOUND)).toEqual([]);
  });

  function withoutRequestId({ body: { request_id: _, ...rest } }: Reply<unknown>): unknown {
    return rest;
  }
});
