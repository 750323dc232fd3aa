import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api, type Credential, type Reply } from '../src/client.js';
import { type Endpoint, listEndpoints } from '../src/endpoints.js';
import { eventually, whileItLasts } from '../src/eventually.js';
import { inventedKey, mistypedKey, publicIdOf } from '../src/keys.js';
import {
  addressesNoWorkspace,
  BEYOND,
  type Call,
  methodOf,
  NOT_FOUND,
  type Outcome,
  outcomeOf,
  outcomeOfLimited,
  type Row,
  rows,
} from '../src/matrix.js';
import { newKey, type Person } from '../src/people.js';
import type { Org, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { forEach } from '../src/walk.js';
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
 * The request of a row that changes nothing because it is refused or a read: one for each place serves all callers.
 * One that its caller prepares is their own.
 */
function harmless(row: Row, place: Place, by: Api = world.boss): Call | Promise<Call> {
  if (row.request.length > 1) return row.request(place, by);
  const here = prepared.get(row) ?? new Map<Place, Call | Promise<Call>>();
  prepared.set(row, here);
  const call = here.get(place) ?? row.request(place, by);
  here.set(place, call);
  return call;
}

/** The caller of a row's request, its place, and the expected response. */
interface Trial {
  readonly who: string;
  readonly place: Place;
  readonly by: Api;
  readonly expected: Outcome;
  /** The person who prepares what is refused; the caller when absent. */
  readonly preparer?: Api;
}

const isRead = (row: Row): boolean => methodOf(row) === 'GET';

/** Makes a row's request for each of its callers. Returns one line for each deviation. */
async function judge(row: Row, trials: readonly Trial[]): Promise<string[]> {
  const wrong: string[] = [];
  // Requests that change nothing are sent concurrently, and others sequentially.
  const changesNothing = ({ expected }: Trial) => isRead(row) || expected.status >= 400;
  await atOnce(trials.filter(changesNothing), async ({ who, place, by, expected, preparer = by }) => {
    const { path, body } = await harmless(row, place, preparer);
    wrong.push(...verdict(row, who, await by.send(methodOf(row), path, body), expected));
  });
  for (const { who, place, by, expected } of trials.filter((trial) => !changesNothing(trial))) {
    // A successful request may use up what was prepared.
    prepared.delete(row);
    const { path, body } = await row.request(place, by);
    wrong.push(...verdict(row, who, await by.send(methodOf(row), path, body), expected));
  }
  return wrong;
}

/** Maximum number of concurrent requests. */
const WIDTH = 8;

async function atOnce<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  await forEach(all, WIDTH, act);
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

test('every row that addresses no workspace specifies the answer to a key limited to workspaces', () => {
  expect(rows.filter((row) => addressesNoWorkspace(row) && row.limited === undefined)).toEqual([]);
});

test('the description specifies for every endpoint what a key limited to workspaces reaches, as the rows do', () => {
  const wrong = rows.filter(({ endpoint, limited, gate }) => {
    const said = endpoints.find(({ name }) => name === endpoint)?.workspaceLimit ?? '';
    // Requests of one endpoint may differ in what they reach.
    const never = rows.every((row) => row.endpoint !== endpoint || addressesNoWorkspace(row));
    const refused =
      limited === 'refused' && gate.kind !== 'hidden' && never && !endpoint.includes('/workspace-templates');
    return refused ? said !== 'refused' : !['addressed', 'filtered', 'open'].includes(said);
  });
  expect(wrong.map(({ endpoint }) => endpoint)).toEqual([]);
});

test('the capabilities list the same endpoints and scopes as the description', async () => {
  interface Capabilities {
    readonly endpoints: readonly { readonly method: string; readonly path: string; readonly scope: string }[];
  }
  const { data } = await api(system, system.owner.apiKey).get<Capabilities>('/capabilities');
  const listed = data.endpoints.map(({ method, path, scope }) => `${method} ${path} ${scope}`);
  expect(listed.sort()).toEqual(endpoints.map(({ name, scope }) => `${name} ${scope}`).sort());
});

describe('roles', () => {
  test.each(named)('%s', async (_, row) => {
    const { callers, closed, stranger } = world;
    const trials: Trial[] = callers.map((caller) => {
      const { name: who, place, api: by } = caller;
      return { who, place, by, expected: outcomeOf(row, caller) };
    });
    trials.push({ who: 'stranger', place: closed, by: stranger, expected: outcomeOf(row, {}) });
    expect(await judge(row, trials)).toEqual([]);
  });
});

describe('roles in a Personal workspace', () => {
  const below = named.filter(([, { gate }]) =>
    ['workspace', 'resource', 'tenant', 'trashed', 'theirs', 'agent'].includes(gate.kind),
  );

  let orgKey: Api;
  beforeAll(async () => {
    orgKey = api(system, (await newKey(world.boss, world.everyScope, { org_id: world.closed.org.id })).key);
  });

  test.each(below)('%s', async (_, row) => {
    const { callers, personal: place, stranger } = world;
    const people = callers.filter(({ name }) => name !== 'Org default');
    const trials: Trial[] = people.map(({ name: who, api: by, workspace }) => {
      return { who, place, by, expected: outcomeOf(row, workspace === undefined ? {} : { workspace }) };
    });
    trials.push({ who: 'a key of an Org', place, by: orgKey, expected: BEYOND });
    trials.push({ who: 'stranger', place, by: stranger, expected: NOT_FOUND });
    expect(await judge(row, trials)).toEqual([]);
  });
});

describe('invalid credentials', () => {
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
    const { key } = await whileItLasts((expires_at) => newKey(world.boss, world.everyScope, { expires_at }));
    await eventually(async () => expect((await api(system, key).get('/me')).status).toBe(401));
    return key;
  }

  test.each(bad)('%s gets 401 %s everywhere', async (name, code, credential) => {
    const by = api(system, await credential());
    const wrong: string[] = [];
    await atOnce(rows, async (row) => {
      const { path, body } = await harmless(row, world.closed);
      const reply = await by.send(methodOf(row), path, body);
      wrong.push(...verdict(row, name, reply, { status: 401, code }));
      if (!reply.headers.get('www-authenticate')?.startsWith('Bearer')) wrong.push(`${row.endpoint}: no challenge`);
    });
    expect(wrong).toEqual([]);
  });

  test('a session and a key at once get 400 multiple_credentials', async () => {
    const headers = { Cookie: world.boss.session.cookie };
    const reply = await api(system, system.owner.apiKey).get('/me', { headers });
    expect([reply.status, reply.error.code]).toEqual([400, 'multiple_credentials']);
  });
});

describe('scopes', () => {
  test('a key with every scope but the required one is refused, and the error names the scope', async () => {
    const scopes = [...new Set(endpoints.map(({ scope }) => scope))].filter((scope) => scope !== 'none');
    const wrong: string[] = [];
    await atOnce(scopes, async (scope) => {
      const here = endpoints.filter(({ scope: needed }) => needed === scope);
      const opening = new Set([scope, ...here.flatMap(({ also }) => also)]);
      const others = world.everyScope.filter((one) => !opening.has(one));
      const { key } = await newKey(world.boss, others, { org_id: world.closed.org.id });
      for (const { name } of here) {
        const row = rows.find(({ endpoint }) => endpoint === name) as Row;
        const { path, body } = await harmless(row, world.closed);
        const reply = await api(system, key).send(methodOf(row), path, body);
        wrong.push(...verdict(row, 'that key', reply, { status: 403, code: 'insufficient_scope' }));
        const challenge = reply.headers.get('www-authenticate') ?? '';
        if (!challenge.includes(`scope="${scope}"`)) wrong.push(`${name}: the challenge does not name ${scope}`);
        if (!reply.text.includes(`"${scope}"`)) wrong.push(`${name}: the body does not name ${scope}`);
      }
    });
    expect(wrong).toEqual([]);
  });

  test('a key with only that scope, or another sufficient one, passes that gate', async () => {
    const wrong: string[] = [];
    const opened = endpoints
      .flatMap((one) => [one, ...one.also.map((scope) => ({ ...one, scope }))])
      .filter(({ scope }) => scope !== 'none');
    const keys = new Map<string, Api>();
    await atOnce([...new Set(opened.map(({ scope }) => scope))], async (scope) => {
      const { key } = await newKey(world.boss, [scope], { org_id: world.closed.org.id });
      keys.set(scope, api(system, key));
    });
    for (const { name, scope } of opened) {
      const row = rows.find(({ endpoint }) => endpoint === name) as Row;
      const by = keys.get(scope) as Api;
      prepared.delete(row);
      const { path, body } = await row.request(world.closed, world.boss);
      const reply = await by.send(methodOf(row), path, body);
      if (reply.body.error?.code === 'insufficient_scope') wrong.push(`${name} ${reply.text}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('tenants', () => {
  const isAddressed = ({ gate }: Row) => gate.kind !== 'self';

  /** The response to a key of another tenant whose owner may do everything in the Org. */
  function beyond(row: Row): Outcome {
    return isAddressed(row) ? BEYOND : outcomeOf(row, {});
  }

  /** Clients with keys of every scope, by their owner and tenant. */
  let keys: Readonly<Record<(typeof WHOSE)[number], Api>>;
  const WHOSE = ['personal', 'other', 'own', 'limited', 'elsewhere', 'stranger', 'strange'] as const;

  beforeAll(async () => {
    const { boss, stranger, closed, open, everyScope } = world;
    const key = async (by: Person, more: object = {}) => api(system, (await newKey(by, everyScope, { ...more })).key);
    const limitedTo = (...places: Place[]) => ({ workspace_ids: places.map(({ workspace }) => workspace.id) });
    keys = {
      personal: await key(boss),
      other: await key(boss, { org_id: otherOrg.id }),
      own: await key(boss, { org_id: closed.org.id }),
      limited: await key(boss, { org_id: closed.org.id, ...limitedTo(closed) }),
      elsewhere: await key(boss, { org_id: closed.org.id, ...limitedTo(open) }),
      stranger: await key(stranger),
      strange: await key(stranger, { org_id: strangersOrg.id }),
    };
  });

  test.each(named)('%s', async (_, row) => {
    const { closed: place, boss } = world;
    const orgKey = (expected: Outcome) => (row.personal ? BEYOND : expected);
    const trial = (who: keyof typeof keys, expected: Outcome, more: Partial<Trial> = {}): Trial => {
      return { who: `key ${who}`, place, by: keys[who], expected, ...more };
    };
    const wrong = await judge(row, [
      trial('personal', beyond(row)),
      trial('other', orgKey(beyond(row))),
      trial('own', orgKey(outcomeOf(row, { org: 'owner', workspace: 'owner' }))),
      trial('limited', orgKey(outcomeOfLimited(row, true)), { preparer: boss }),
      trial('elsewhere', orgKey(outcomeOfLimited(row, false)), { preparer: boss }),
      trial('stranger', outcomeOf(row, {})),
      trial('strange', orgKey(outcomeOf(row, {}))),
    ]);
    expect(wrong).toEqual([]);
  });

  test('X-Tenant and X-Workspace-Id restrict a credential, and contradictions are refused', async () => {
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
    expect(await ask({ 'X-Tenant': '' })).toEqual([400, 'invalid_id']);
    expect(await ask({ 'X-Workspace-Id': '' })).toEqual([400, 'invalid_id']);
  });

  test('an Idempotency-Key is separate under another tenant or workspace', async () => {
    const { boss, closed } = world;
    const key = randomUUID();
    const make = async (headers: Record<string, string>) => {
      const all = { 'Idempotency-Key': key, ...headers };
      const { data, headers: answered } = await boss.post<Workspace>('/workspaces', { name: 'Same' }, { headers: all });
      return { id: data.id, tenant: data.org_id, replayed: answered.get('Idempotency-Replayed') };
    };
    const first = await make({ 'X-Tenant': closed.org.id });
    const second = await make({ 'X-Tenant': otherOrg.id });
    const third = await make({});
    expect([first, second, third].map(({ tenant, replayed }) => [tenant, replayed])).toEqual([
      [closed.org.id, null],
      [otherOrg.id, null],
      [null, null],
    ]);
    expect(await make({ 'X-Tenant': closed.org.id })).toEqual({ ...first, replayed: 'true' });
    const { data } = await make({}).then(({ id }) => boss.get<Workspace>(`/workspaces/${id}`));
    expect(data.id).toBe(third.id);
  });
});

describe('records of others', () => {
  const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  // A form's token is public: everyone who has it sees that there is a form.
  const addressed = named.filter(([, { gate }]) => gate.kind !== 'self' && gate.kind !== 'tenant-open');

  test.each(addressed)('%s: a stranger cannot distinguish a record from a missing one', async (_, row) => {
    const { stranger, closed } = world;
    const { path, body } = await harmless(row, closed);
    const invented = JSON.parse(JSON.stringify({ path, body }).replace(UUID, () => randomUUID())) as Call;
    const [real, random] = await Promise.all([
      stranger.send(methodOf(row), path, body),
      stranger.send(methodOf(row), invented.path, invented.body),
    ]);
    expect([real.status, withoutRequestId(real)]).toEqual([random.status, withoutRequestId(random)]);
    expect(verdict(row, 'stranger', real, NOT_FOUND)).toEqual([]);
  });

  function withoutRequestId({ body: { request_id: _, ...rest } }: Reply<unknown>): unknown {
    return rest;
  }
});
