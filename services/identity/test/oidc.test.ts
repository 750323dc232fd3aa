import { createPublicKey } from 'node:crypto';
import { homeOf } from '@commonplace/kit/id';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Harness, openHarness } from './support/harness.js';
import { signUp } from './support/people.js';
import { type RunningProvider, startProvider } from './support/provider.js';

const HOUR = 3_600_000;
const people = {
  carol: { email: 'Carol@example.com', email_verified: true, name: 'Carol', zoneinfo: 'Europe/Paris' },
  dave: { email: 'dave@example.com', email_verified: false, name: 'Dave' },
  erin: { email: 'erin@elsewhere.org', email_verified: true },
  robot: {},
};

let provider: RunningProvider;
let harness: Harness;
beforeAll(async () => {
  provider = await startProvider({ people });
});
afterAll(() => provider.stop());
afterEach(() => harness?.close());

const open = async (more: object = {}, env: NodeJS.ProcessEnv = {}) => {
  const issuers = [{ issuer: provider.issuer, audience: 'commonplace', create_users: true, ...more }];
  harness = await openHarness({
    COMMONPLACE_OIDC_ISSUERS: JSON.stringify(issuers),
    COMMONPLACE_SIGN_UP: 'open',
    ...env,
  });
};
const refusal = (token: string) =>
  harness.authenticate(token).then(
    () => '',
    ({ message }: Error) => message,
  );
const refused = (token: string) =>
  harness.authenticate(token).then(
    ({ caller }) => caller.userName,
    (error) => `${error.code} ${error.reason}`,
  );
const INVALID = 'UNAUTHENTICATED invalid_credentials';

describe('the token of an identity provider', () => {
  test('authenticates its bearer with the known scopes that it contains', async () => {
    await open();
    const scope = 'resource:read search:read admin:everything';
    const { caller } = await harness.authenticate(await provider.token('carol', { scope }));
    expect(caller).toMatchObject({
      userName: 'Carol',
      userEmail: 'Carol@example.com',
      credential: { type: 'bearer', scopes: ['resource:read', 'search:read'] },
    });
    expect(caller.tenant).toBeUndefined();
    expect(Date.parse(caller.credential.expiresAt ?? '')).toBeGreaterThan(Date.now() + HOUR / 2);
    expect(harness.directory.homes).toEqual(new Set([homeOf(caller.userId)]));
    const { users } = await harness.auth.findUsers({ ids: [caller.userId], emails: [] }, harness.call());
    expect(users[0]).toMatchObject({ timezone: 'Europe/Paris', locale: 'en' });
  });

  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])('may be signed with %s', async (alg) => {
    await open();
    expect(await refused(await provider.token('carol', { alg }))).toBe('Carol');
  });

  test('creates one account, even for concurrent requests', async () => {
    await open();
    const tokens = [await provider.token('carol'), await provider.token('carol', { alg: 'RS256' })];
    const callers = await Promise.all([...tokens, ...tokens].map((token) => harness.authenticate(token)));
    expect(new Set(callers.map(({ caller }) => caller.userId)).size).toBe(1);
    expect(new Set(callers.map(({ caller }) => caller.credential.id)).size).toBe(1);
  });

  test('accepts the open invitations of a verified address, once per token', async () => {
    await open();
    const token = await provider.token('carol');
    const { caller } = await harness.authenticate(token);
    await harness.authenticate(token);
    const joined = { email: 'Carol@example.com', userId: caller.userId };
    expect(harness.directory.acceptedAddresses).toEqual([joined]);
    await new Promise((done) => setTimeout(done, 1100));
    await harness.authenticate(await provider.token('carol'));
    expect(harness.directory.acceptedAddresses).toEqual([joined, joined]);
    await harness.authenticate(await provider.token('dave'));
    expect(harness.directory.acceptedAddresses).toHaveLength(2);
  });

  test('creates no account if the issuer may not', async () => {
    await open({ create_users: false });
    expect(await refused(await provider.token('carol'))).toBe(INVALID);
  });

  test('creates no account without an address, or for another domain', async () => {
    await open({ email_domains: ['example.com'] });
    expect(await refused(await provider.token('robot'))).toBe(INVALID);
    expect(await refused(await provider.token('erin'))).toBe(INVALID);
    expect(await refused(await provider.token('dave'))).toBe(INVALID);
    expect(await refused(await provider.token('carol'))).toBe('Carol');
  });
});

describe('an existing account', () => {
  test('is not opened by an address that is unverified on either side', async () => {
    await open();
    await signUp(harness, 'Carol');
    await signUp(harness, 'Dave');
    expect(await refused(await provider.token('carol'))).toBe(INVALID);
    expect(await refusal(await provider.token('carol'))).toContain('Sign in with the password of that account');
    expect(await refused(await provider.token('dave'))).toBe(INVALID);
    expect(await refusal(await provider.token('dave'))).toContain('the identity provider has not verified');
  });

  test('is opened if the operator trusts the accounts of the issuer, but never by an unverified address', async () => {
    await open({ link_accounts: true });
    const carol = await signUp(harness, 'Carol');
    await signUp(harness, 'Dave');
    const { caller } = await harness.authenticate(await provider.token('carol'));
    expect(caller.userId).toBe(carol.id);
    expect(await refused(await provider.token('dave'))).toBe(INVALID);
  });

  test('is opened if its own address is verified', async () => {
    await open();
    const owner = { email: 'carol@EXAMPLE.com', name: 'Owner', scopes: [], password: '', withoutKey: false };
    const { user } = await harness.auth.bootstrap(owner, harness.call());
    expect((await harness.authenticate(await provider.token('carol'))).caller.userId).toBe(user?.id);
  });
});

describe('a token is refused', () => {
  const claimsOf = async () => decodeJwt(await provider.token('carol'));

  test('for another audience', async () => {
    await open();
    expect(await refused(await provider.token('carol', { audience: 'other' }))).toBe(INVALID);
  });

  test('from an unknown issuer', async () => {
    await open({ issuer: 'http://127.0.0.1:9' });
    expect(await refused(await provider.token('carol'))).toBe(INVALID);
  });

  test('after its expiry, with a minute of tolerance for clock skew', async () => {
    await open();
    const token = await provider.token('carol');
    expect(await refused(token)).toBe('Carol');
    harness.pass(HOUR + 30_000);
    expect(await refused(token)).toBe('Carol');
    harness.pass(60_000);
    expect(await refused(token)).toBe('UNAUTHENTICATED expired_credentials');
  });

  test('without a signature', async () => {
    await open();
    const [, payload] = (await provider.token('carol')).split('.');
    for (const alg of ['none', 'None', 'NONE']) {
      const header = Buffer.from(JSON.stringify({ alg, typ: 'JWT', kid: 'key-ES256' })).toString('base64url');
      expect(await refused(`${header}.${payload}.`)).toBe(INVALID);
    }
  });

  test('signed with the public key as a shared secret', async () => {
    await open();
    const claims = await claimsOf();
    const jwk = await provider.publicKey('RS256');
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    for (const secret of [pem.toString(), JSON.stringify(jwk), jwk.n ?? '']) {
      const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-RS256' });
      expect(await refused(await token.sign(Buffer.from(secret)))).toBe(INVALID);
    }
  });

  test('with an algorithm that is not on the list', async () => {
    await open();
    expect(await refused(await provider.token('carol', { alg: 'RS512' }))).toBe(INVALID);
  });

  test('with a foreign key: under another id, the same id, or embedded in the token', async () => {
    await open();
    const claims = await claimsOf();
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    const jku = 'http://127.0.0.1:9/jwks';
    for (const more of [{ kid: 'mine' }, { kid: 'key-ES256' }, { kid: 'key-ES256', jwk }, { kid: 'mine', jku }, {}]) {
      const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...more });
      expect(await refused(await token.sign(privateKey))).toBe(INVALID);
    }
    expect(await refused(await provider.token('carol'))).toBe('Carol');
  });

  test('after a part of it was altered', async () => {
    await open();
    const [header, payload = '', signature] = (await provider.token('dave')).split('.');
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'carol' };
    const changed = Buffer.from(JSON.stringify(claims)).toString('base64url');
    expect(await refused(`${header}.${changed}.${signature}`)).toBe(INVALID);
  });
});
