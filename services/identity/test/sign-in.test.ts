import { homeOf, newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sessionCollection } from '../src/stores/sessions.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';

const HOUR = 3_600_000;
const ada = { email: 'Ada@Example.com', password: 'correct horse battery', name: 'Ada', clientIp: '192.0.2.1' };
const signUpOf = (more: object = {}) => ({ ...ada, invitationToken: '', userAgent: '', ...more });
const signInOf = (more: object = {}) => ({
  email: ada.email,
  password: ada.password,
  clientIp: ada.clientIp,
  userAgent: '',
  code: '',
  ...more,
});

let harness: Harness;
const open = async (env: NodeJS.ProcessEnv = { COMMONPLACE_SIGN_UP: 'open' }) => {
  harness = await openHarness(env);
};
afterEach(() => harness.close());

describe('signing up', () => {
  test('requires an invitation by default', async () => {
    await open({});
    const { auth, call } = harness;
    await expect(auth.signUp(signUpOf(), call())).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'invitation_required',
    });
    await expect(auth.signUp(signUpOf({ invitationToken: 'unknown' }), call())).rejects.toMatchObject({
      code: 'NOT_FOUND',
      reason: 'expired_link',
    });
  });

  test('requires an invitation for the same address, regardless of case', async () => {
    await open({});
    const { auth, call, directory } = harness;
    const others = directory.invite('bob@example.com');
    await expect(auth.signUp(signUpOf({ invitationToken: others }), call())).rejects.toMatchObject({
      reason: 'invitation_required',
    });
    const token = directory.invite('ada@example.COM');
    const { user } = await auth.signUp(signUpOf({ invitationToken: token }), call());
    expect(user).toMatchObject({ email: 'Ada@Example.com', name: 'Ada', locale: 'en', timezone: 'UTC' });
    expect(directory.accepted).toEqual([{ token, userId: user?.id }]);
    expect(directory.homes).toEqual(new Set([homeOf(user?.id ?? '')]));
  });

  test('is refused for everyone if it is closed', async () => {
    await open({ COMMONPLACE_SIGN_UP: 'closed' });
    const invitationToken = harness.directory.invite(ada.email);
    await expect(harness.auth.signUp(signUpOf({ invitationToken }), harness.call())).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'sign_up_closed',
    });
  });

  test('accepts an address once, in any notation, even for concurrent requests', async () => {
    await open();
    const { auth, call } = harness;
    const tries = ['ada@example.com', 'ADA@example.com', ' Ada@Example.com '].map((email) =>
      auth.signUp(signUpOf({ email }), call()).then(
        () => 'made',
        (error) => error.reason,
      ),
    );
    expect((await Promise.all(tries)).sort()).toEqual(['already_exists', 'already_exists', 'made']);
    await expect(auth.signUp(signUpOf(), call())).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  test('creates an account while tenancy is unavailable, and its workspace at the next sign-in', async () => {
    await open();
    const { auth, call, directory } = harness;
    directory.down = true;
    const reply: Reply = {};
    const { user } = await auth.signUp(signUpOf(), call(undefined, { reply }));
    expect(reply.warnings).toEqual([expect.objectContaining({ code: 'sign_up_unsettled' })]);
    await auth.signIn(signInOf(), call());
    expect(directory.homes.size).toBe(0);
    directory.down = false;
    await auth.signIn(signInOf(), call());
    expect(directory.homes).toEqual(new Set([homeOf(user?.id ?? '')]));
  });

  test('creates a missing workspace at the next sign-in', async () => {
    await open();
    const { auth, call, directory, authenticate } = harness;
    directory.down = true;
    const { session } = await auth.signUp(signUpOf(), call());
    directory.down = false;
    const { caller } = await authenticate(session);
    expect(directory.homes).toEqual(new Set([homeOf(caller.userId)]));
  });

  test('publishes one event about the new person', async () => {
    await open();
    const seen: unknown[] = [];
    await harness.bus.subscribe({ consumer: 'test', types: ['commonplace.identity.>'] }, async (events) => {
      seen.push(...events.map(({ type, data }) => [type, data]));
    });
    const { user } = await harness.auth.signUp(signUpOf(), harness.call());
    await expect(harness.auth.signUp(signUpOf(), harness.call())).rejects.toThrow();
    while ((await harness.bus.lag('test')) > 0 || seen.length < 2) await new Promise((done) => setTimeout(done, 5));
    const person = { userId: user?.id, userName: user?.name };
    expect(seen).toEqual([
      ['commonplace.identity.user.created', person],
      ['commonplace.identity.session.started', { ...person, credentialId: expect.any(String), method: 'sign_up' }],
    ]);
  });
});

describe('signing in', () => {
  beforeEach(async () => {
    await open();
    await harness.auth.signUp(signUpOf(), harness.call());
  });

  test('opens a session, which can be read back', async () => {
    const { auth, call, authenticate } = harness;
    const signed = await auth.signIn(signInOf({ email: 'ada@EXAMPLE.com' }), call());
    expect(signed.session).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const again = await auth.getSession({ session: signed.session }, call());
    expect(again).toMatchObject({ user: signed.user, csrfToken: signed.csrfToken, expiresAt: signed.expiresAt });
    const { caller } = await authenticate(signed.session);
    expect(caller).toMatchObject({ userName: 'Ada', credential: { type: 'session' } });
    expect(caller.tenant).toBeUndefined();
    expect(caller.credential.scopes).toHaveLength(69);
    expect(JSON.stringify(caller)).not.toContain(signed.session);
  });

  test('accepts a password in any Unicode composition', async () => {
    const { auth, call } = harness;
    await auth.signUp(signUpOf({ email: 'zoë@example.com', password: 'e\u0301clair au chocolat' }), call());
    await auth.signIn(signInOf({ email: 'zoë@example.com', password: '\u00e9clair au chocolat' }), call());
  });

  test('does not reveal whether the address or the password was wrong', async () => {
    const { auth, call } = harness;
    const wrong = await auth.signIn(signInOf({ password: 'wrong' }), call()).catch((error) => error);
    const unknown = await auth.signIn(signInOf({ email: 'eve@example.com' }), call()).catch((error) => error);
    expect(wrong).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'invalid_credentials' });
    expect([unknown.code, unknown.reason, unknown.message]).toEqual([wrong.code, wrong.reason, wrong.message]);
  });

  test('creates a different cookie and CSRF token each time', async () => {
    const { auth, call } = harness;
    const [one, two] = [await auth.signIn(signInOf(), call()), await auth.signIn(signInOf(), call())];
    expect(one.session).not.toBe(two.session);
    expect(one.csrfToken).not.toBe(two.csrfToken);
  });

  test('signing out ends that session at once, and no other', async () => {
    const { auth, call, authenticate } = harness;
    const [one, two] = [await auth.signIn(signInOf(), call()), await auth.signIn(signInOf(), call())];
    await auth.signOut({ session: one.session }, call());
    await auth.signOut({ session: one.session }, call());
    await expect(authenticate(one.session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await authenticate(two.session);
  });

  test('ends 12 hours after the last use', async () => {
    const { auth, call, authenticate, pass, settle } = harness;
    const { session } = await auth.signIn(signInOf(), call());
    pass(11 * HOUR);
    await authenticate(session);
    await settle();
    pass(11 * HOUR);
    await authenticate(session);
    await settle();
    pass(12 * HOUR + 1000);
    await expect(authenticate(session)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      reason: 'expired_credentials',
    });
    await expect(auth.getSession({ session }, call())).rejects.toMatchObject({ reason: 'expired_credentials' });
  });

  test('ends after 30 days, even if it is used', async () => {
    const { auth, call, authenticate, pass, settle } = harness;
    const { session } = await auth.signIn(signInOf(), call());
    for (let hours = 0; hours < 30 * 24 - 10; hours += 10) {
      pass(10 * HOUR);
      await authenticate(session);
      await settle();
    }
    pass(10 * HOUR);
    await expect(authenticate(session)).rejects.toMatchObject({ reason: 'expired_credentials' });
  });

  test('survives a rotation of the secret key, with the same CSRF token, until the old secret is removed', async () => {
    const { auth, call, authenticate, restart } = harness;
    const { session, csrfToken } = await auth.signIn(signInOf(), call());
    const secret = 'another secret that is long enough for it';
    await restart({ COMMONPLACE_SECRET_KEY: `${secret},${SECRET}` });
    await authenticate(session);
    expect((await auth.getSession({ session }, call())).csrfToken).toBe(csrfToken);
    await restart({ COMMONPLACE_SECRET_KEY: secret });
    await expect(authenticate(session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
  });

  test('stores no cookie and no password in plain text', async () => {
    const { auth, call, store } = harness;
    const { session } = await auth.signIn(signInOf(), call());
    const { sessionCollection } = await import('../src/stores/sessions.js');
    const { userCollection } = await import('../src/stores/users.js');
    const sessions = await (await store.collection(sessionCollection)).find({ where: {}, limit: 100 });
    const users = await (await store.collection(userCollection)).find({ where: {}, limit: 100 });
    expect(sessions.length).toBeGreaterThan(0);
    expect(JSON.stringify([sessions, users])).not.toContain(session);
    expect(JSON.stringify([sessions, users])).not.toContain(ada.password);
    expect(users[0]?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test('refuses a malformed cookie', async () => {
    const { auth, call } = harness;
    await expect(auth.getSession({ session: '' }, call())).rejects.toMatchObject({ reason: 'missing_credentials' });
    await expect(auth.getSession({ session: 'x' }, call())).rejects.toMatchObject({ reason: 'invalid_credentials' });
  });

  test('accepts the invitation of a link', async () => {
    const { auth, call, directory } = harness;
    const { session, user } = await auth.signIn(signInOf(), call());
    const orgId = newId();
    const invitationToken = directory.invite('another@example.com', orgId);
    expect(await auth.acceptInvitation({ session, invitationToken }, call())).toMatchObject({ orgId });
    expect(directory.accepted).toEqual([{ token: invitationToken, userId: user?.id }]);
    await expect(auth.acceptInvitation({ session, invitationToken }, call())).rejects.toMatchObject({
      reason: 'expired_link',
    });
    await expect(auth.acceptInvitation({ session: '', invitationToken }, call())).rejects.toMatchObject({
      reason: 'missing_credentials',
    });
  });
});

describe('guessing', () => {
  const tries = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SIGN_IN_TRIES: '2' };
  beforeEach(async () => {
    await open(tries);
    await harness.auth.signUp(signUpOf(), harness.call());
  });
  const guess = (more: object) =>
    harness.auth.signIn(signInOf({ password: 'wrong', ...more }), harness.call()).catch((error) => error.reason);

  test('is refused after some attempts from one network, even with the right password, with the seconds to wait', async () => {
    expect(await Promise.all([1, 2, 3, 4].map(() => guess({})))).toEqual(
      expect.arrayContaining(['invalid_credentials', 'invalid_credentials', 'rate_limited', 'rate_limited']),
    );
    const refused = await harness.auth.signIn(signInOf(), harness.call()).catch((error) => error);
    expect(refused).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'rate_limited' });
    expect(refused.retryAfter).toBeGreaterThan(0);
    expect(refused.details).toMatchObject({ policy: 'sign_in', limit: 2, window_seconds: 900 });
  });

  test('locks out neither the owner on another network, nor others on the same one', async () => {
    for (let times = 0; times < 3; times++) await guess({});
    await harness.auth.signIn(signInOf({ clientIp: '198.51.100.7' }), harness.call());
    await harness.auth.signUp(signUpOf({ email: 'bob@example.com' }), harness.call());
  });

  test('is limited per network over all accounts, and per account over all networks', async () => {
    const reasons: string[] = [];
    for (let n = 0; n < 12; n++) reasons.push(await guess({ email: `user${n}@example.com` }));
    expect(reasons.filter((reason) => reason === 'rate_limited')).toHaveLength(2);
    reasons.length = 0;
    for (let n = 0; n < 22; n++) reasons.push(await guess({ clientIp: `203.0.113.${n}` }));
    expect(reasons.filter((reason) => reason === 'rate_limited')).toHaveLength(2);
  });

  test('does not count frequent successful sign-ins', async () => {
    for (let times = 0; times < 5; times++) await harness.auth.signIn(signInOf(), harness.call());
  });
});

describe('accounts without an invitation', () => {
  const env = {
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_SIGN_UPS_PER_NETWORK: '3',
    COMMONPLACE_SIGN_UPS_PER_HOUR: '5',
  };
  const make = (n: number, clientIp: string, more: object = {}) =>
    harness.auth.signUp(signUpOf({ email: `user${n}@example.com`, clientIp, ...more }), harness.call()).then(
      () => 'made',
      (error) => error,
    );

  test('are limited per network and hour, even for concurrent requests', async () => {
    await open(env);
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, n) => make(n, `2001:db8::${n + 1}`)));
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(3);
    const refused = outcomes.filter((outcome) => outcome !== 'made');
    for (const error of refused) {
      expect(error).toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        reason: 'rate_limited',
        details: { policy: 'sign_up' },
      });
      expect(error.retryAfter).toBeGreaterThan(0);
    }
    harness.pass(HOUR / 3);
    expect(await make(20, '2001:db8::1')).toBe('made');
    expect(await make(21, '2001:db8::1')).toMatchObject({ reason: 'rate_limited' });
  });

  test('are limited per hour over all networks, which does not affect people with an invitation', async () => {
    await open(env);
    for (let n = 0; n < 5; n++) expect(await make(n, `192.0.2.${n}`)).toBe('made');
    expect(await make(6, '192.0.2.9')).toMatchObject({ reason: 'rate_limited', details: { policy: 'sign_up_total' } });
    const invitationToken = harness.directory.invite('user7@example.com');
    expect(await make(7, '192.0.2.9', { invitationToken })).toBe('made');
  });

  test('are counted across restarts, and only if the account was created', async () => {
    await open(env);
    for (let n = 0; n < 2; n++) expect(await make(n, '192.0.2.1')).toBe('made');
    expect(await make(0, '192.0.2.1')).toMatchObject({ reason: 'already_exists' });
    await harness.restart(env);
    expect(await make(3, '192.0.2.1')).toBe('made');
    expect(await make(4, '192.0.2.1')).toMatchObject({ reason: 'rate_limited' });
    await harness.restart({ ...env, COMMONPLACE_RATE_LIMITS: 'off' });
    expect(await make(4, '192.0.2.1')).toBe('made');
  });
});

describe('sessions of one person', () => {
  test('are limited by the setting, and the oldest ends first, even for concurrent sign-ins', async () => {
    await open({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SESSIONS_PER_PERSON: '3', COMMONPLACE_SIGN_IN_TRIES: '100' });
    const { auth, call } = harness;
    const first = await auth.signUp(signUpOf(), call());
    await auth.signUp(signUpOf({ email: 'bob@example.com' }), call());
    const signed = await Promise.all(Array.from({ length: 12 }, () => auth.signIn(signInOf(), call())));
    const isLive = ({ session }: { session: string }) =>
      auth.getSession({ session }, call()).then(
        () => true,
        () => false,
      );
    const live = await Promise.all(signed.map(isLive));
    expect(live.filter(Boolean)).toHaveLength(3);
    expect(await isLive(first)).toBe(false);
    const sessions = await harness.store.collection(sessionCollection);
    // Bob's own session still exists.
    expect(await sessions.count({})).toBe(4);
    const last = await auth.signIn(signInOf(), call());
    expect(await isLive(last)).toBe(true);
    expect(await sessions.count({})).toBe(4);
  });
});
