import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { sessionCollection } from '../src/stores/sessions.js';
import { type Harness, openHarness } from './support/harness.js';

const HOUR = 3_600_000;
const CLIENT = 'wiki';
const PUBLIC_URL = 'https://wiki.example.com';

/**
 * A fake identity provider. Each authorization yields a code, which only the client that asked for it can use, once
 * (PKCE).
 */
interface FakeIssuer {
  readonly url: string;
  /** Claims of the ID token, in addition to the required ones. */
  claims: Record<string, unknown>;
  /** Its issuer name in its metadata, and the audience of its ID tokens. */
  issuer: string;
  /** Number of requests for its metadata. */
  discoveries: number;
  /** Bytes that its metadata has besides its fields. */
  padding: number;
  audience: string | string[];
  /** How clients may authenticate, as its metadata say; by default they do not. */
  authMethods: string[] | undefined;
  /** How the client authenticated last. */
  authenticatedBy: string | undefined;
  /** Signs in at the provider. Returns the query of the browser's redirect back. */
  authorize(url: string): string;
  close(): Promise<void>;
}

async function openIssuer(): Promise<FakeIssuer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, URLSearchParams>();
  const server: Server = createServer(async (request, response) => {
    const send = (body: object, status = 200) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    };
    const issuer = fake.url;
    if (request.url === '/.well-known/openid-configuration') {
      fake.discoveries += 1;
      return send({
        issuer: fake.issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: fake.authMethods,
        padding: 'x'.repeat(fake.padding),
      });
    }
    if (request.url === '/jwks') return send({ keys: [jwk] });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const { authorization } = request.headers;
    const inBody = form.get('client_secret') === 'secret' ? 'client_secret_post' : undefined;
    fake.authenticatedBy = authorization === `Basic ${btoa(`${CLIENT}:secret`)}` ? 'client_secret_basic' : inBody;
    const asked = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (asked?.get('code_challenge') !== challenge) return send({ error: 'invalid_grant' }, 400);
    const idToken = await new SignJWT({ nonce: asked.get('nonce'), ...fake.claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(issuer)
      .setAudience(fake.audience)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
    send({ access_token: 'opaque', token_type: 'Bearer', id_token: idToken });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: FakeIssuer = {
    url,
    issuer: url,
    discoveries: 0,
    padding: 0,
    audience: CLIENT,
    authMethods: undefined,
    authenticatedBy: undefined,
    claims: {},
    authorize(url) {
      const asked = new URL(url).searchParams;
      const code = `code-${codes.size}-${Math.random()}`;
      codes.set(code, asked);
      return new URLSearchParams({ code, state: asked.get('state') ?? '' }).toString();
    },
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
  return fake;
}

let issuer: FakeIssuer;
let harness: Harness;
beforeAll(async () => {
  issuer = await openIssuer();
});
afterAll(() => issuer.close());
afterEach(() => harness?.close());

const open = async (env: NodeJS.ProcessEnv = {}) => {
  Object.assign(issuer, { issuer: issuer.url, audience: CLIENT, padding: 0, authMethods: undefined });
  issuer.claims = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace' };
  harness = await openHarness({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_PUBLIC_URL: PUBLIC_URL,
    COMMONPLACE_OIDC_ISSUER: issuer.url,
    COMMONPLACE_OIDC_CLIENT_ID: CLIENT,
    COMMONPLACE_OIDC_CLIENT_SECRET: 'secret',
    ...env,
  });
};
const begin = (next = '/docs') => harness.security.beginOidcSignIn({ next }, harness.call());
const complete = (query: string, flow: string) =>
  harness.security.completeOidcSignIn({ query, flow, clientIp: '192.0.2.1', userAgent: '' }, harness.call());

describe('signing in with an identity provider', () => {
  test('is refused if the metadata belongs to another issuer', async () => {
    await open();
    issuer.issuer = 'https://accounts.example.com';
    await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test.each([
    ['another client', 'another'],
    ['several clients, of which this one did not ask for it', [CLIENT, 'another']],
  ])('is refused for an ID token with %s', async (_, audience) => {
    await open();
    const { url, flow } = await begin();
    Object.assign(issuer, { audience, claims: { ...issuer.claims, azp: 'another' } });
    await expect(complete(issuer.authorize(url), flow)).rejects.toMatchObject({ reason: expect.any(String) });
    Object.assign(issuer, { audience: CLIENT });
    const again = await begin();
    delete issuer.claims.azp;
    expect((await complete(issuer.authorize(again.url), again.flow)).signIn?.session).not.toBe('');
  });

  test('fetches the metadata of the issuer once for many sign-ins', async () => {
    await open();
    // Without an address in the ID token, the userinfo endpoint is looked for in the metadata.
    issuer.claims = { sub: 'nobody' };
    const signIn = async () => {
      const { url, flow } = await begin();
      await complete(issuer.authorize(url), flow).catch(() => {});
    };
    await signIn();
    const { discoveries } = issuer;
    await signIn();
    await signIn();
    expect(issuer.discoveries).toBe(discoveries);
  });

  test('fetches the metadata again after an hour, and uses no older metadata', async () => {
    await open();
    await begin();
    const { discoveries } = issuer;
    harness.pass(59 * 60_000);
    await begin();
    expect(issuer.discoveries).toBe(discoveries);
    harness.pass(2 * 60_000);
    issuer.issuer = 'https://accounts.example.com';
    await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    issuer.issuer = issuer.url;
    await begin();
    expect(issuer.discoveries).toBe(discoveries + 2);
  });

  test('is refused if the metadata never ends', async () => {
    await open();
    issuer.padding = 3 * 2 ** 20;
    await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('opens a session for the person in the token, and creates their account once', async () => {
    await open();
    const { url, flow } = await begin('/auth/account');
    const asked = new URL(url).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      redirect_uri: `${PUBLIC_URL}/auth/oidc/callback`,
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    });
    const { signIn, next } = await complete(issuer.authorize(url), flow);
    expect(next).toBe('/auth/account');
    const { caller } = await harness.authenticate(signIn?.session ?? '');
    expect(caller).toMatchObject({ userEmail: 'grace@example.com', credential: { type: 'session' } });
    const again = await begin();
    const { signIn: second } = await complete(issuer.authorize(again.url), again.flow);
    expect(second?.user?.id).toBe(caller.userId);
  });

  test('opens a session with the usual lifetime, independent of the session at the provider', async () => {
    await open({ COMMONPLACE_SESSION_IDLE_HOURS: '12', COMMONPLACE_SESSION_DAYS: '2' });
    const signedIn = async () => {
      const { url, flow } = await begin();
      return (await complete(issuer.authorize(url), flow)).signIn?.session ?? '';
    };
    const ended = { code: 'UNAUTHENTICATED' };
    const records = await harness.store.collection(sessionCollection);
    const [used, idle] = [await signedIn(), await signedIn()];
    // The ID token expires after five minutes.
    for (let times = 0; times < 4; times++) {
      harness.pass(11 * HOUR);
      const asked = new Date(harness.now()).toISOString();
      // A use is recorded after its answer, unless the previous use is still being recorded.
      await eventually(async () => {
        expect((await harness.authenticate(used)).caller.credential.type).toBe('session');
        expect(await records.count({ lastSeenAt: { gte: asked } })).toBe(1);
      });
    }
    await expect(harness.authenticate(idle)).rejects.toMatchObject(ended);
    harness.pass(5 * HOUR);
    await expect(harness.authenticate(used)).rejects.toMatchObject(ended);
  });

  test('refuses a response to another browser, a used code, another nonce, and an expired sign-in', async () => {
    await open();
    const [mine, other] = [await begin(), await begin()];
    const query = issuer.authorize(mine.url);
    const refusal = { code: 'UNAUTHENTICATED' };
    await expect(complete(query, other.flow)).rejects.toMatchObject(refusal);
    await expect(complete(query, 'forged')).rejects.toMatchObject(refusal);
    await complete(query, mine.flow);
    await expect(complete(query, mine.flow)).rejects.toMatchObject(refusal);
    const third = await begin();
    issuer.claims = { ...issuer.claims, nonce: 'another' };
    await expect(complete(issuer.authorize(third.url), third.flow)).rejects.toMatchObject(refusal);
    const denied = new URLSearchParams({
      error: 'access_denied',
      state: new URL(third.url).searchParams.get('state') ?? '',
    });
    await expect(complete(denied.toString(), third.flow)).rejects.toThrow('access_denied');
    const late = await begin();
    harness.pass(11 * 60_000);
    await expect(complete(issuer.authorize(late.url), late.flow)).rejects.toMatchObject({
      reason: 'expired_credentials',
    });
  });

  test('is refused if the response names another issuer', async () => {
    await open();
    const { url, flow } = await begin();
    const query = new URLSearchParams(issuer.authorize(url));
    query.set('iss', 'https://accounts.example.com');
    await expect(complete(query.toString(), flow)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    query.set('iss', issuer.url);
    expect((await complete(query.toString(), flow)).signIn?.session).not.toBe('');
  });

  test('is refused if the person did not authenticate as the operator requires', async () => {
    const required = { acr_values: ['phr'], amr_values: ['mfa'], max_age_minutes: 10, create_users: true };
    const listed = [{ issuer: issuer.url, audience: CLIENT, ...required }];
    await open({ COMMONPLACE_OIDC_ISSUERS: JSON.stringify(listed) });
    const asked = new URL((await begin()).url).searchParams;
    expect([asked.get('acr_values'), asked.get('max_age')]).toEqual(['phr', '600']);
    const strong = { acr: 'phr', amr: ['mfa'], auth_time: Math.floor(harness.now() / 1000) - 60 };
    const signIn = async (claims: object) => {
      const { url, flow } = await begin();
      issuer.claims = { sub: 'grace', email: 'grace@example.com', email_verified: true, ...claims };
      const answer = await complete(issuer.authorize(url), flow).catch((error: { code: string }) => error.code);
      return typeof answer === 'string' ? answer : answer.signIn?.user?.email;
    };
    expect(await signIn({ ...strong, acr: 'pwd' })).toBe('UNAUTHENTICATED');
    expect(await signIn({ ...strong, amr: ['pwd'] })).toBe('UNAUTHENTICATED');
    expect(await signIn({ ...strong, auth_time: strong.auth_time - 3600 })).toBe('UNAUTHENTICATED');
    expect(await signIn(strong)).toBe('grace@example.com');
  });

  test.each([
    [undefined, 'client_secret_basic'],
    [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['private_key_jwt', 'client_secret_post'], 'client_secret_post'],
  ])('sends the secret as the provider supports it: %p', async (authMethods, used) => {
    await open();
    issuer.authMethods = authMethods;
    const { url, flow } = await begin();
    await complete(issuer.authorize(url), flow);
    expect(issuer.authenticatedBy).toBe(used);
  });

  test('joins no invitations for addresses of domains that the issuer is not trusted with', async () => {
    const entry = { issuer: issuer.url, audience: CLIENT, create_users: true, email_domains: ['example.com'] };
    await open({ COMMONPLACE_OIDC_ISSUERS: JSON.stringify([entry]) });
    const signIn = async () => {
      const { url, flow } = await begin();
      const { signIn: done } = await complete(issuer.authorize(url), flow);
      return done?.user?.id ?? '';
    };
    const userId = await signIn();
    const joined = [{ email: 'grace@example.com', userId }];
    expect(harness.directory.acceptedAddresses).toEqual(joined);
    issuer.claims = { ...issuer.claims, email: 'ada@elsewhere.org' };
    await new Promise((done) => setTimeout(done, 1100));
    expect(await signIn()).toBe(userId);
    expect(harness.directory.acceptedAddresses).toEqual(joined);
  });

  test('creates no account if sign-up is not allowed, and takes over no account without a verified address', async () => {
    await open({ COMMONPLACE_SIGN_UP: 'invite' });
    const first = await begin();
    await expect(complete(issuer.authorize(first.url), first.flow)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('is not available without its settings', async () => {
    await open({ COMMONPLACE_OIDC_CLIENT_ID: '' });
    expect(await harness.security.getSignInOptions({}, harness.call())).toEqual({ oidc: false, passwordMinLength: 8 });
    await expect(begin()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
