import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { parseSecrets } from '../src/domain/secrets.js';
import { scopesOf } from '../src/oidc/scopes.js';
import { openSecurityAdmin } from '../src/security-admin.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { type OddIssuer, openOddIssuer } from './support/issuer.js';

const DISCOVERY = '/.well-known/openid-configuration';
let issuer: OddIssuer;
let harness: Harness;
beforeEach(async () => {
  issuer = await openOddIssuer();
  harness = await openHarness(trusting());
});
afterEach(async () => {
  await harness.close();
  await issuer.close();
});

/** Returns the settings of a service that accepts the issuer's tokens. */
function trusting(more: object = {}): NodeJS.ProcessEnv {
  const settings = { issuer: issuer.url, audience: ['us', 'them'], create_users: true, default_scopes: ['org:read'] };
  return { COMMONPLACE_OIDC_ISSUERS: JSON.stringify([{ ...settings, ...more }]) };
}

const tokenOf = (more: JWTPayload = {}, header: object = {}) => {
  const seconds = Math.floor(harness.now() / 1000);
  const person = { sub: 'fay', email: 'fay@example.com', email_verified: true };
  return issuer.sign({ iss: issuer.url, aud: 'us', iat: seconds, exp: seconds + 300, ...person, ...more }, header);
};
const outcome = async (token: string) =>
  harness.authenticate(token).then(
    ({ caller }) => caller.userName,
    (error) => `${error.code} ${error.reason}`,
  );
const INVALID = 'UNAUTHENTICATED invalid_credentials';
const UNAVAILABLE = 'UNAVAILABLE dependency_unavailable';

describe('claims', () => {
  test('must include exp and sub, and nbf must not be in the future', async () => {
    const soon = Math.floor(harness.now() / 1000) + 30;
    expect(await outcome(await tokenOf({ nbf: soon }))).toBe('fay');
    expect(await outcome(await tokenOf({ nbf: soon + 60 }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ exp: undefined }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ sub: undefined }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ sub: '' }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ aud: undefined }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ aud: ['others', 'them'] }))).toBe('fay');
  });

  test('contain the scopes, which otherwise come from the settings of the issuer', async () => {
    expect((await harness.authenticate(await tokenOf())).caller.credential.scopes).toEqual(['org:read']);
    expect(scopesOf({ scope: 'org:read  org:read nonsense' }, ['org:write'])).toEqual(['org:read']);
    expect(scopesOf({ scp: ['org:read', 'search:read', 'x'] }, [])).toEqual(['org:read', 'search:read']);
    expect(scopesOf({ scope: '' }, ['org:write'])).toEqual([]);
    expect(scopesOf({}, ['org:write'])).toEqual(['org:write']);
  });

  test('with unexpected values are refused', async () => {
    const odd = { name: 7, zoneinfo: 'Moon/Crater', picture: 'javascript:alert(1)', email_verified: 'yes' };
    const { caller } = await harness.authenticate(await tokenOf(odd as never));
    const { users } = await harness.auth.findUsers({ ids: [caller.userId], emails: [] }, harness.call());
    expect(users[0]).toMatchObject({ name: 'fay', timezone: 'UTC', avatarUrl: undefined });
    expect(harness.directory.acceptedAddresses).toEqual([]);
  });

  test('without an address are completed from the userinfo endpoint, for the same person only', async () => {
    const { answers, url } = issuer;
    answers.set(DISCOVERY, { issuer: url, jwks_uri: `${url}/jwks`, userinfo_endpoint: `${url}/me` });
    const bare = await tokenOf({ email: undefined });
    answers.set('/me', { sub: 'somebody else', email: 'victim@example.com', email_verified: true });
    expect(await outcome(bare)).toBe(INVALID);
    answers.set('/me', 403);
    expect(await outcome(bare)).toBe(INVALID);
    answers.set('/me', { sub: 'fay', email: 'fay@example.com', email_verified: true, name: 'Fay' });
    expect(await outcome(bare)).toBe('Fay');
    expect(harness.directory.acceptedAddresses).toHaveLength(1);
  });
});

describe('keys', () => {
  test('are fetched once, and at most once a minute for unknown key ids', async () => {
    const tokens = await Promise.all([tokenOf(), tokenOf({ jti: '2' }), tokenOf({ jti: '3' })]);
    expect(await Promise.all(tokens.map(outcome))).toEqual(['fay', 'fay', 'fay']);
    for (let n = 0; n < 5; n++) expect(await outcome(await tokenOf({}, { kid: `unknown-${n}` }))).toBe(INVALID);
    expect(issuer.requests.filter((path) => path === '/jwks')).toHaveLength(1);
    expect(issuer.requests.filter((path) => path === DISCOVERY)).toHaveLength(1);
  });

  test('of an unreachable issuer answer 503, and the issuer is not called again for a while', async () => {
    const token = await tokenOf();
    issuer.answers.set('/jwks', 500);
    expect(await outcome(token)).toBe(UNAVAILABLE);
    const before = issuer.requests.length;
    expect(await outcome(token)).toBe(UNAVAILABLE);
    expect(issuer.requests).toHaveLength(before);
  });

  test('are fetched again once the issuer is reachable', async () => {
    const discovery = issuer.answers.get(DISCOVERY);
    issuer.answers.set(DISCOVERY, 503);
    expect(await outcome(await tokenOf())).toBe(UNAVAILABLE);
    issuer.answers.set(DISCOVERY, discovery);
    harness.pass(5000);
    expect(await outcome(await tokenOf())).toBe('fay');
  });

  test('are fetched again after the issuer has rotated them', async () => {
    expect(await outcome(await tokenOf())).toBe('fay');
    await issuer.rotate();
    harness.pass(60 * 60_000);
    expect(await outcome(await tokenOf())).toBe('fay');
  });

  test.each([
    ['another issuer', { issuer: 'https://id.example.com' }],
    ['keys from elsewhere in the clear', { jwks_uri: 'http://192.0.2.1/jwks' }],
    ['keys from a file', { jwks_uri: 'file:///etc/passwd' }],
  ])('are refused if discovery names %s', async (_, more) => {
    issuer.answers.set(DISCOVERY, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...more });
    expect(await outcome(await tokenOf())).toBe(UNAVAILABLE);
  });
});

describe('a token for another purpose', () => {
  test.each([
    ['an ID token with a nonce', { nonce: 'n' }, {}],
    ['an ID token with the hash of an access token', { at_hash: 'h' }, {}],
    ['an ID token with the hash of a code', { c_hash: 'h' }, {}],
    ['a logout token', {}, { typ: 'logout+jwt' }],
    ['a security event', {}, { typ: 'secevent+jwt' }],
  ])('is not a credential: %s', async (_, claims, header) => {
    expect(await outcome(await tokenOf(claims, header))).toBe(INVALID);
  });

  test.each([{}, { typ: 'JWT' }, { typ: 'at+jwt' }, { typ: 'application/AT+JWT' }])(
    'is refused for the type %j, which is not that of an access token',
    async (header) => {
      expect(await outcome(await tokenOf({}, header))).toBe('fay');
    },
  );

  test('is accepted if the operator allows ID tokens', async () => {
    await harness.restart(trusting({ id_tokens: true }));
    expect(await outcome(await tokenOf({ nonce: 'n' }))).toBe('fay');
    expect(await outcome(await tokenOf({}, { typ: 'logout+jwt' }))).toBe(INVALID);
  });

  test('also means any token without a type, if the operator requires types', async () => {
    await harness.restart(trusting({ typed_tokens: true }));
    expect(await outcome(await tokenOf())).toBe(INVALID);
    expect(await outcome(await tokenOf({}, { typ: 'at+jwt' }))).toBe('fay');
  });
});

test('a disabled account cannot be opened by a token', async () => {
  expect(await outcome(await tokenOf())).toBe('fay');
  const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
  await admin.disable('fay@example.com');
  expect(await outcome(await tokenOf())).toBe(INVALID);
  expect(await outcome(await tokenOf({ sub: 'another subject of hers' }))).toBe(INVALID);
  await admin.enable('fay@example.com');
  expect(await outcome(await tokenOf())).toBe('fay');
});

describe('the authentication of a person', () => {
  test('must have one of the required levels', async () => {
    await harness.restart(trusting({ acr_values: ['phr', 'phrh'] }));
    expect(await outcome(await tokenOf())).toBe(INVALID);
    expect(await outcome(await tokenOf({ acr: 'pwd' }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ acr: 'phrh' }))).toBe('fay');
  });

  test('must use one of the required methods', async () => {
    await harness.restart(trusting({ amr_values: ['mfa', 'hwk'] }));
    expect(await outcome(await tokenOf({ amr: ['pwd'] }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ amr: 'mfa' }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ amr: ['pwd', 'mfa'] }))).toBe('fay');
  });

  test('must be recent enough', async () => {
    await harness.restart(trusting({ max_age_minutes: 60 }));
    const seconds = Math.floor(harness.now() / 1000);
    expect(await outcome(await tokenOf())).toBe(INVALID);
    expect(await outcome(await tokenOf({ auth_time: seconds - 2 * 3600 }))).toBe(INVALID);
    expect(await outcome(await tokenOf({ auth_time: seconds - 1800 }))).toBe('fay');
  });
});
