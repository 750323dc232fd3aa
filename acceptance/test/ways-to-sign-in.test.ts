import { createAuthenticator } from '@commonplace/kit/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { cookieOf, newAddress, PASSWORD, personOf, type SignedIn, signIn, signUp } from '../src/people.js';
import { type RunningProvider, startProvider } from '../src/provider.js';
import type { List } from '../src/records.js';
import { freePort, type OwnSystem, startSystem } from '../src/system.js';

/** Tests sign-ins with a passkey and with an identity provider, by programs and browsers. */

const client = { clientId: 'commonplace', clientSecret: 'a secret of the client' };
const email = newAddress('from.elsewhere');
let provider: RunningProvider;
let system: OwnSystem;
let origin: string;
beforeAll(async () => {
  const port = await freePort();
  origin = `http://localhost:${port}`;
  provider = await startProvider({
    ...client,
    redirectUri: `${origin}/auth/oidc/callback`,
    email,
    authentication: 'client_secret_basic',
  });
  system = await startSystem({
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_PUBLIC_URL: origin,
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_OIDC_ISSUER: provider.issuer,
    COMMONPLACE_OIDC_CLIENT_ID: client.clientId,
    COMMONPLACE_OIDC_CLIENT_SECRET: client.clientSecret,
  });
}, 180_000);
afterAll(async () => {
  await system?.stop();
  await provider?.stop();
});

const actions = async (by: { get: ReturnType<typeof api>['get'] }) =>
  (await by.get<List<{ action: string; details: Record<string, unknown> }>>('/audit-events?limit=50')).data.items.map(
    ({ action, details }) => [action, details.method ?? details.name ?? details.how],
  );

interface Begun {
  readonly options: object;
}

test('a passkey is added, signs in once for each challenge, and is removed', async () => {
  const ada = await signUp(system, 'Ada');
  const here = { origin, rpId: 'localhost' };
  const passkey = createAuthenticator();
  const begun = await ada.post<Begun>('/auth/passkeys/register/begin', {});
  const credential = JSON.parse(passkey.register(JSON.stringify(begun.data.options), here));
  const added = await ada.post<{ id: string }>('/auth/passkeys/register', { name: 'Laptop', credential });
  expect(added.data).toMatchObject({ name: 'Laptop', synced: false, last_used_at: null });
  const again = await ada.post('/auth/passkeys/register', { name: 'Laptop', credential });
  expect([again.status, again.error.code]).toEqual([403, 'passkey_not_verified']);

  const stranger = api(system);
  const asked = await stranger.post<Begun>('/auth/passkeys/sign-in/begin', {});
  const signed = { credential: JSON.parse(passkey.sign(JSON.stringify(asked.data.options), here)) };
  const foreign = await stranger.post('/auth/passkeys/sign-in', signed, {
    headers: { Origin: 'https://evil.example' },
  });
  expect([foreign.status, foreign.error.code]).toEqual([403, 'csrf_failed']);
  const entered = personOf(system, await stranger.post<SignedIn>('/auth/passkeys/sign-in', signed), PASSWORD);
  expect(entered.user).toEqual(ada.user);
  expect((await entered.get('/me')).status).toBe(200);
  const replayed = await stranger.post('/auth/passkeys/sign-in', signed);
  expect([replayed.status, replayed.error.code]).toEqual([401, 'expired_credentials']);
  const wrong = await stranger.post('/auth/passkeys/sign-in', { credential: 'text' });
  expect([wrong.status, wrong.error.code]).toEqual([400, 'invalid_value']);

  const { id } = added.data;
  expect((await ada.post('/auth/passkeys/rename', { passkey_id: id, name: 'Desk' })).data).toMatchObject({
    name: 'Desk',
  });
  expect((await ada.get('/auth/account')).text).toContain('Desk');
  const without = await api(system, { ...ada.session, csrf: 'another' }).del(`/auth/passkeys/${id}`);
  expect([without.status, without.error.code]).toEqual([403, 'csrf_failed']);
  expect((await ada.del(`/auth/passkeys/${id}`)).data).toEqual({ removed: true });
  expect((await ada.get('/auth/passkeys')).data).toEqual({ items: [] });
  await eventually(async () => {
    const found = await actions(ada);
    expect(found).toContainEqual(['user.passkey_added', 'Laptop']);
    expect(found).toContainEqual(['session.started', 'passkey']);
    expect(found).toContainEqual(['user.passkey_removed', 'Desk']);
  }, 30_000);
}, 120_000);

/** Leaves for the identity provider, like a browser with some cookies. */
const leave = (next: string, cookie = '') =>
  fetch(`${system.baseUrl}/auth/oidc/start?next=${encodeURIComponent(next)}`, {
    redirect: 'manual',
    headers: { cookie },
  });

/** Comes back from the identity provider, like a browser with some cookies. */
async function comeBack(start: Response, cookie: string): Promise<Response> {
  const back = new URL(await provider.allow(start.headers.get('location') ?? ''));
  const url = `${system.baseUrl}${back.pathname}${back.search}`;
  return fetch(url, { redirect: 'manual', headers: { cookie } });
}

/** Goes to the identity provider and back, like a browser. Returns the last response. */
async function goAround(next: string): Promise<Response> {
  const start = await leave(next);
  return comeBack(start, cookieOf(start.headers));
}

test('an identity provider signs a person in, and the browser continues', async () => {
  expect((await api(system).get('/auth/sign-in')).text).toContain('/auth/oidc/start');
  const answer = await goAround('/auth/account');
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/auth/account']);
  const cookie = answer.headers.getSetCookie().find((one) => one.startsWith('session=')) ?? '';
  const page = await fetch(`${system.baseUrl}/auth/account`, { headers: { cookie: cookie.split(';')[0] ?? '' } });
  expect(await page.text()).toContain(email);
  const session = { cookie: cookie.split(';')[0] ?? '', csrf: '' };
  const me = api(system, session);
  await eventually(async () => expect(await actions(me)).toContainEqual(['session.started', 'oidc']), 30_000);
}, 120_000);

test('two tabs sign in at the same time, and each continues with its own page', async () => {
  const one = await leave('/auth/account');
  const first = cookieOf(one.headers);
  const two = await leave('/docs/guides', first);
  const both = `${first}; ${cookieOf(two.headers)}`;
  const answers = [await comeBack(one, both), await comeBack(two, both)];
  expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
    [303, '/auth/account'],
    [303, '/docs/guides'],
  ]);
  // Each callback ends its own sign-in only.
  const cleared = answers.map(({ headers }) => headers.getSetCookie().filter((text) => text.includes('Max-Age=0;')));
  expect(cleared).toEqual([
    [expect.stringContaining(`${first.split('=')[0]}=;`)],
    [expect.not.stringContaining(first)],
  ]);
}, 120_000);

test('a browser forgets the first of many sign-ins that it has begun', async () => {
  const starts = [];
  const cookies: string[] = [];
  for (let tab = 0; tab < 5; tab++) {
    const start = await leave('/docs', cookies.join('; '));
    starts.push(start);
    for (const text of start.headers.getSetCookie()) {
      const [pair = ''] = text.split(';');
      if (text.includes('Max-Age=0;'))
        cookies.splice(
          cookies.findIndex((one) => one.startsWith(pair)),
          1,
        );
      else cookies.push(pair);
    }
  }
  expect(cookies).toHaveLength(4);
  expect((await comeBack(starts[0] as Response, cookies.join('; '))).status).toBe(401);
  expect((await comeBack(starts[4] as Response, cookies.join('; '))).status).toBe(303);
}, 120_000);

test('a sign-in at the identity provider begins on a page of ours, not through a link of another site', async () => {
  const begin = (site: string) =>
    fetch(`${system.baseUrl}/auth/oidc/start?next=%2Fauth%2Faccount`, {
      redirect: 'manual',
      headers: { 'Sec-Fetch-Site': site },
    });
  for (const site of ['cross-site', 'same-site']) {
    const answer = await begin(site);
    expect([site, answer.status, answer.headers.get('location'), answer.headers.getSetCookie()]).toEqual([
      site,
      303,
      '/auth/sign-in?next=%2Fauth%2Faccount',
      [],
    ]);
  }
  for (const site of ['same-origin', 'none']) {
    expect((await begin(site)).headers.get('location')).toMatch(/^http.*[?&]code_challenge=/);
  }
}, 120_000);

test('a callback without the cookie of the browser, a refusal and another site end at an error page', async () => {
  const start = await fetch(`${system.baseUrl}/auth/oidc/start?next=https://evil.example`, { redirect: 'manual' });
  const back = new URL(await provider.allow(start.headers.get('location') ?? ''));
  const stolen = await fetch(`${system.baseUrl}${back.pathname}${back.search}`, { redirect: 'manual' });
  expect([stolen.status, stolen.headers.getSetCookie().some((one) => one.startsWith('session='))]).toEqual([
    401,
    false,
  ]);
  expect((await goAround('https://evil.example')).headers.get('location')).toBe('/docs');
  provider.denies(true);
  const refused = await goAround('/');
  expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
  provider.denies(false);
}, 120_000);

test('the owner can still sign in by password', async () => {
  expect((await signIn(system, system.owner)).user.email).toBe(system.owner.email);
});
