import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api, credentialHeaders } from '../src/client.js';
import { openFeed } from '../src/event-feed.js';
import { eventually } from '../src/eventually.js';
import { type FormAnswer, tableOf } from '../src/forms.js';
import { newAddress, newKey, PASSWORD, type Person, signIn } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

const SIGN_UPS = 8;
const SESSIONS = 5;

let system: OwnSystem;
let owner: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_SIGN_UPS_PER_NETWORK: String(SIGN_UPS),
    COMMONPLACE_SESSIONS_PER_PERSON: String(SESSIONS),
    COMMONPLACE_CAPTCHA_BITS: '12',
    // This machine acts as a proxy for clients of any address.
    COMMONPLACE_TRUSTED_PROXIES: '127.0.0.1',
    COMMONPLACE_RATE_LIMITS: 'default=off,write=off',
  });
  owner = await signIn(system, system.owner);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Limits' })).data;
}, 200_000);
afterAll(() => system?.stop());

/** A client's address in one IPv6 network, as the proxy sends it. */
const from = (network: number, host: number) => ({
  'X-Forwarded-For': `2001:db8:0:${network.toString(16)}::${(host + 1).toString(16)}`,
});
const times = <T>(count: number, ask: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
const count = (all: readonly number[], one: number) => all.filter((status) => status === one).length;
/** Counts equal values. */
const tally = (all: readonly number[]) => Object.fromEntries(all.map((one) => [one, count(all, one)]));

test('a write whose events cannot be streamed, because too many streams are open, has no effect', async () => {
  const feeds = await times(20, () => openFeed(system, owner.session));
  const body = {
    workspace_id: workspace.id,
    title: 'Refused',
    messages: [{ role: 'user', content: 'hi' }],
    respond: true,
  };
  const headers = { ...credentialHeaders(owner.session, 'POST'), 'Content-Type': 'application/json' };
  const ask = async () => {
    const init = { method: 'POST', headers: { ...headers, Accept: 'text/event-stream' }, body: JSON.stringify(body) };
    const answer = await fetch(`${system.baseUrl}/api/v1/chat-sessions`, init);
    await answer.body?.cancel();
    return [answer.status, answer.headers.get('retry-after')];
  };
  expect(await ask()).toEqual([429, '5']);
  expect((await owner.get(`/chat-sessions?workspace_id=${workspace.id}`)).data).toEqual({ items: [] });
  await feeds[0]?.close();
  await eventually(async () => expect(await ask()).toEqual([200, null]));
  for (const feed of feeds) await feed.close();
}, 60_000);

describe('one IPv6 network', () => {
  test('has 20 failed authentications a minute', async () => {
    const stranger = api(system, 'wsk_nobody');
    const began = performance.now();
    const answers = await times(300, async (i) => (await stranger.get('/me', { headers: from(1, i) })).status);
    // One more is allowed every three seconds.
    const later = Math.ceil((performance.now() - began) / 3000);
    const failed = count(answers, 401);
    expect([failed >= 20, failed <= 20 + later, failed + count(answers, 429)]).toEqual([true, true, 300]);
  });

  test('has ten guesses at the password of a publication', async () => {
    const body = { type: 'document', name: 'Locked', content: 'inside', workspace_id: workspace.id };
    const { id } = (await owner.post<Resource>('/resources', body)).data;
    const slug = (await owner.post<{ slug: string }>(`/resources/${id}/publish`, { password: 'correct horse' })).data
      .slug;
    const guess = (password: string, headers: Record<string, string>) =>
      fetch(`${system.baseUrl}/p/${slug}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ password }).toString(),
      });
    const answers = await times(60, (i) => guess(`guess ${i}`, from(2, i)));
    const statuses = answers.map(({ status }) => status);
    expect(tally(statuses)).toEqual({ 403: 10, 429: 50 });
    const late = await guess('correct horse', from(2, 99));
    expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect((await guess('correct horse', from(3, 0))).status).toBe(303);
  }, 120_000);

  test('creates a limited number of accounts per hour, and another network has its own limit', async () => {
    const signUp = (network: number, host: number) =>
      api(system).post(
        '/auth/sign-up',
        { email: newAddress('New'), password: PASSWORD, name: 'New' },
        { headers: from(network, host) },
      );
    const answers = await times(30, (i) => signUp(4, i));
    expect(
      count(
        answers.map(({ status }) => status),
        201,
      ),
    ).toBe(SIGN_UPS);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { status, error, headers } of refused) {
      expect([status, error.code]).toEqual([429, 'rate_limited']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await signUp(5, 0)).status).toBe(201);
  }, 120_000);
});

test('a person has a limited number of sessions, also if several begin at the same moment', async () => {
  const email = newAddress('Often');
  await api(system).post('/auth/sign-up', { email, password: PASSWORD, name: 'Often' }, { headers: from(6, 0) });
  const people = [
    ...(await times(9, () => signIn(system, { email, password: PASSWORD }))),
    ...(await times(9, () => signIn(system, { email, password: PASSWORD }))),
  ];
  // A gateway caches a session for at most a second.
  await eventually(async () => {
    const statuses = await Promise.all(people.map(async (person) => (await person.get('/me')).status));
    expect([count(statuses, 200), count(statuses, 401)]).toEqual([SESSIONS, 18 - SESSIONS]);
  });
}, 120_000);

test('a credential can have 20 event streams open, in addition to its requests', async () => {
  const key = await newKey(owner, ['import:write', 'import:read', 'resource:write']);
  const by = api(system, key.key);
  const path = `/workspaces/${workspace.id}/imports`;
  const { data } = await by.post<{ id: string }>(path, { source_type: 'markdown', upload: true, name: 'Later' });
  const ends: AbortController[] = [];
  const follow = async () => {
    const end = new AbortController();
    ends.push(end);
    const headers = { Authorization: `Bearer ${key.key}`, Accept: 'text/event-stream' };
    return fetch(`${system.baseUrl}/api/v1/imports/${data.id}`, { headers, signal: end.signal });
  };
  try {
    const streams = await times(45, follow);
    const statuses = streams.map(({ status }) => status);
    expect(tally(statuses)).toEqual({ 200: 20, 429: 25 });
    const refused = streams.find(({ status }) => status === 429);
    expect(await refused?.json()).toMatchObject({
      error: { code: 'concurrency_limited', details: { policy: 'streams', limit: 20 } },
    });
    expect(refused?.headers.get('retry-after')).toBe('5');
    expect((await by.get(`/imports/${data.id}`)).status).toBe(200);
    const other = await newKey(owner, ['import:read']);
    const headers = { Authorization: `Bearer ${other.key}`, Accept: 'text/event-stream' };
    const end = new AbortController();
    ends.push(end);
    const theirs = await fetch(`${system.baseUrl}/api/v1/imports/${data.id}`, { headers, signal: end.signal });
    expect(theirs.status).toBe(200);
    ends[statuses.indexOf(200)]?.abort();
    await eventually(async () => expect((await follow()).status).toBe(200));
  } finally {
    for (const end of ends) end.abort();
  }
});

interface Challenge {
  readonly challenge: string;
  readonly bits: number;
}

test('a proof of a captcha is valid for one submission, with a submission_id or without', async () => {
  const by: Api = api(system, system.owner.apiKey);
  const table = (await by.post<Resource>('/resources', { type: 'table', name: 'Asked', workspace_id: workspace.id }))
    .data;
  const config = { title: 'Ask', fields: [{ id: 'name', type: 'short_text', label: 'Name' }], require_captcha: true };
  const { form } = (await by.post<FormAnswer>(`/resources/${table.id}/form`, { config })).data;
  const path = `/forms/${form.token}/submit`;
  const values = { name: 'Ada' };
  const asked = await by.post(path, { values });
  const [fault] = asked.error.details as unknown as { param: string; captcha: Challenge }[];
  expect([asked.status, fault?.param, fault?.captcha.bits]).toEqual([400, 'captcha_token', 12]);
  const proof = solve(form.token ?? '', fault?.captcha as Challenge);
  const answers = await times(30, async () => (await by.post(path, { values, captcha_token: proof })).status);
  expect(tally(answers)).toEqual({ 201: 1, 400: 29 });
  const again = await by.post(path, { values, captcha_token: proof });
  const [{ captcha }] = again.error.details as unknown as [{ captcha: Challenge }];
  expect((await by.post(path, { values, captcha_token: solve(form.token ?? '', captcha) })).status).toBe(201);
  expect((await tableOf(by, table.id)).row_count).toBe(2);
});

/** Solves a challenge like a client without a `submission_id`. */
function solve(token: string, { challenge, bits }: Challenge): string {
  for (let n = 0; ; n++) {
    const text = `${challenge}.${n.toString(36)}`;
    const hash = createHash('sha256').update(`${token}::${text}`).digest();
    if (hash.readUInt32BE(0) >>> (32 - bits) === 0) return text;
  }
}

test('files that the system stores in its folder are accessible to its own user only', async () => {
  const folder = system.places.COMMONPLACE_DATA_DIR ?? '';
  const open = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found !== undefined && (found.mode & 0o077) !== 0;
  });
  expect(open).toEqual([]);
  expect(readdirSync(folder)).not.toEqual([]);
});
