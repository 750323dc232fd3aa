import { type Authenticator, type Ceremony, createAuthenticator } from '@commonplace/kit/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseSecrets } from '../src/domain/secrets.js';
import { openSecurityAdmin } from '../src/security-admin.js';
import { userCollection } from '../src/stores/users.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';

const PASSWORD = 'correct horse battery';
const ORIGIN = 'https://wiki.example.com';
const HERE: Ceremony = { origin: ORIGIN, rpId: 'wiki.example.com' };
const from = { clientIp: '192.0.2.1', userAgent: '' };
const ENV = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_PUBLIC_URL: ORIGIN, COMMONPLACE_PASSKEYS_PER_PERSON: '3' };

let harness: Harness;
let session: string;
let events: { type: string; data: Record<string, unknown> }[];
beforeEach(async () => {
  harness = await openHarness(ENV);
  events = [];
  const types = ['user.passkey_added', 'user.passkey_removed', 'session.started', 'sign_in.failed'];
  await harness.bus.subscribe(
    { consumer: 'test', types: types.map((type) => `commonplace.identity.${type}`), batch: 10 },
    async (some) => void events.push(...some),
  );
  session = await signUp('ada');
});
afterEach(() => harness.close());

async function signUp(name: string): Promise<string> {
  const request = { ...from, email: `${name}@example.com`, password: PASSWORD, name, invitationToken: '' };
  return (await harness.auth.signUp(request, harness.call())).session;
}
const begin = async (by = session) =>
  (await harness.security.beginPasskeyRegistration({ session: by }, harness.call())).options;
const complete = (credential: string, name = '', by = session) =>
  harness.security.completePasskeyRegistration({ session: by, name, credential, userAgent: '' }, harness.call());
const list = async () => (await harness.security.listPasskeys({ session }, harness.call())).items;
const challenge = async () => (await harness.security.beginPasskeySignIn({}, harness.call())).options;
const enter = (credential: string) => harness.security.completePasskeySignIn({ ...from, credential }, harness.call());
const signIn = async (passkey: Authenticator, more: Partial<Ceremony> = {}) =>
  enter(passkey.sign(await challenge(), { ...HERE, ...more }));

async function addPasskey(name = 'Laptop', by = session): Promise<Authenticator & { readonly id: string }> {
  const authenticator = createAuthenticator();
  const { id } = await complete(authenticator.register(await begin(by), HERE), name, by);
  return Object.assign(authenticator, { id });
}

const refused = { code: 'UNAUTHENTICATED', reason: 'invalid_credentials' };
const spent = { code: 'UNAUTHENTICATED', reason: 'expired_credentials' };
const unverified = { code: 'PERMISSION_DENIED', reason: 'passkey_not_verified' };

describe('a passkey', () => {
  test('is requested with user verification, for this host, and as a discoverable credential', async () => {
    expect(JSON.parse(await begin())).toMatchObject({
      rp: { id: 'wiki.example.com' },
      user: { name: 'ada@example.com' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const options = JSON.parse(await challenge());
    expect(options).toMatchObject({ rpId: 'wiki.example.com', userVerification: 'required' });
    expect(options.allowCredentials ?? []).toEqual([]);
  });

  test('opens a session without a password and a code', async () => {
    const passkey = await addPasskey();
    expect(await list()).toMatchObject([{ name: 'Laptop', lastUsedAt: undefined, synced: false }]);
    const { user, session: cookie, secondFactor } = await signIn(passkey);
    expect([user?.email, secondFactor]).toEqual(['ada@example.com', undefined]);
    await harness.authenticate(cookie);
    expect((await list())[0]?.lastUsedAt).toEqual(expect.any(String));
    await signIn(passkey);
  });

  test('has a name, and is removed by its own person only', async () => {
    const passkey = await addPasskey();
    const eve = await signUp('eve');
    const { security, call } = harness;
    const missing = { code: 'NOT_FOUND' };
    await expect(
      security.renamePasskey({ session: eve, passkeyId: passkey.id, name: 'Mine' }, call()),
    ).rejects.toMatchObject(missing);
    await expect(security.removePasskey({ session: eve, passkeyId: passkey.id }, call())).rejects.toMatchObject(
      missing,
    );
    await security.renamePasskey({ session, passkeyId: passkey.id, name: 'Desk' }, call());
    expect(await list()).toMatchObject([{ id: passkey.id, name: 'Desk' }]);
    await security.removePasskey({ session, passkeyId: passkey.id }, call());
    expect(await list()).toEqual([]);
    await expect(signIn(passkey)).rejects.toMatchObject(refused);
  });

  test('is kept when the password changes', async () => {
    const passkey = await addPasskey();
    const request = { session, currentPassword: PASSWORD, newPassword: 'staple battery horse', code: '', clientIp: '' };
    await harness.security.changePassword(request, harness.call());
    await harness.authenticate((await signIn(passkey)).session);
  });

  test('is removed, and the sessions end, when the operator resets the second factor', async () => {
    const passkey = await addPasskey();
    const { session: opened } = await signIn(passkey);
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    expect(await admin.resetSecondFactor('ada@example.com')).toMatchObject({ passkeysRemoved: 1, sessionsEnded: 2 });
    await expect(signIn(passkey)).rejects.toMatchObject(refused);
    await expect(harness.authenticate(opened)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(admin.resetSecondFactor('ada@example.com')).rejects.toThrow('has no second factor');
  });

  test('is reported by events, as are sign-ins with it', async () => {
    const passkey = await addPasskey();
    await signIn(passkey);
    await harness.security.removePasskey({ session, passkeyId: passkey.id }, harness.call());
    const until = Date.now() + 20_000;
    while (events.length < 4 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(events.map(({ type, data }) => [type.split('.').slice(2).join('.'), data.method ?? data.name])).toEqual([
      ['session.started', 'sign_up'],
      ['user.passkey_added', 'Laptop'],
      ['session.started', 'passkey'],
      ['user.passkey_removed', 'Laptop'],
    ]);
  });
});

describe('a registration', () => {
  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host', { rpId: 'evil.example' }],
    ['no user verification', { verified: false }],
    ['the wrong ceremony', { type: 'webauthn.get' }],
  ])('is refused with %s', async (_, wrong) => {
    const credential = createAuthenticator().register(await begin(), { ...HERE, ...wrong });
    await expect(complete(credential)).rejects.toMatchObject(unverified);
    expect(await list()).toEqual([]);
  });

  test('accepts a challenge once, in time, and from the person to whom it was issued', async () => {
    const options = await begin();
    await complete(createAuthenticator().register(options, HERE));
    await expect(complete(createAuthenticator().register(options, HERE))).rejects.toMatchObject(unverified);
    const eve = await signUp('eve');
    const foreign = createAuthenticator().register(await begin(), HERE);
    await expect(complete(foreign, '', eve)).rejects.toMatchObject(unverified);
    const signed = createAuthenticator().register(await challenge(), HERE);
    await expect(complete(signed)).rejects.toMatchObject(unverified);
    const late = createAuthenticator().register(await begin(), HERE);
    harness.pass(5 * 60_000 + 1);
    await expect(complete(late)).rejects.toMatchObject(unverified);
  });

  test('stops at the limit, even for concurrent requests', async () => {
    const made: string[] = [];
    for (let each = 0; each < 6; each++) made.push(createAuthenticator().register(await begin(), HERE));
    const outcomes = await Promise.allSettled(made.map((one) => complete(one)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await list()).toHaveLength(3);
    await expect(begin()).rejects.toMatchObject({ reason: 'limit_reached' });
  });

  test('refuses a credential that is already registered, also for other people', async () => {
    const passkey = await addPasskey();
    const eve = await signUp('eve');
    const again = passkey.register(await begin(eve), HERE);
    await expect(complete(again, '', eve)).rejects.toMatchObject({ reason: 'already_exists' });
  });

  test('requires recent authentication and a local account', async () => {
    const waiting = createAuthenticator().register(await begin(), HERE);
    harness.pass(31 * 60_000);
    await expect(begin()).rejects.toMatchObject({ reason: 'reauthentication_required' });
    await expect(complete(waiting)).rejects.toMatchObject({ reason: 'reauthentication_required' });
    const bob = await signUp('bob');
    const users = await harness.store.collection(userCollection);
    const [user] = await users.find({ where: { emailKey: 'bob@example.com' }, limit: 1 });
    const work = harness.store.begin();
    if (user !== undefined) work.replace(users, user, { ...user, passwordHash: undefined });
    await work.commit();
    await expect(begin(bob)).rejects.toMatchObject({ reason: 'no_password' });
  });

  test.each(['', '{', '[]', '{"id":"a"}', '{"id":"a","rawId":"a","type":"public-key","response":{}}'])(
    'refuses %j as a credential',
    async (credential) => {
      await expect(complete(credential)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );
});

describe('a sign-in', () => {
  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host', { rpId: 'evil.example' }],
    ['no user verification', { verified: false }],
    ['the wrong ceremony', { type: 'webauthn.create' }],
    ['a counter that goes back', { counter: 1 }],
  ])('is refused with %s', async (_, wrong) => {
    const passkey = await addPasskey();
    await signIn(passkey);
    await expect(signIn(passkey, wrong)).rejects.toMatchObject(refused);
  });

  test('is refused for an unknown passkey, and for the user handle of another person', async () => {
    const stranger = createAuthenticator();
    stranger.userHandle = Buffer.from('nobody').toString('base64url');
    await expect(signIn(stranger)).rejects.toMatchObject(refused);
    const passkey = await addPasskey();
    passkey.userHandle = Buffer.from('somebody else').toString('base64url');
    await expect(signIn(passkey)).rejects.toMatchObject(refused);
  });

  test('accepts a response once, even if it is sent concurrently, and only in time', async () => {
    const passkey = await addPasskey();
    const answer = passkey.sign(await challenge(), HERE);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => enter(answer)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(enter(answer)).rejects.toMatchObject(spent);
    const sessions = await harness.security.listSessions({ session }, harness.call());
    expect(sessions.items).toHaveLength(2);
    const late = passkey.sign(await challenge(), HERE);
    harness.pass(5 * 60_000 + 1);
    await expect(enter(late)).rejects.toMatchObject(spent);
  });

  test('refuses a challenge of a registration, and an altered challenge', async () => {
    const passkey = await addPasskey();
    await expect(enter(passkey.sign(await begin(), HERE))).rejects.toMatchObject(spent);
    const options = JSON.parse(await challenge());
    const bytes = Buffer.from(options.challenge, 'base64url');
    bytes[0] = (bytes[0] ?? 0) ^ 0x01;
    const changed = JSON.stringify({ ...options, challenge: bytes.toString('base64url') });
    await expect(enter(passkey.sign(changed, HERE))).rejects.toMatchObject(spent);
  });

  test('can be completed after a restart, since no state is kept in the process', async () => {
    const passkey = await addPasskey();
    const answer = passkey.sign(await challenge(), HERE);
    await harness.restart(ENV);
    await harness.authenticate((await enter(answer)).session);
    await harness.restart(ENV);
    await expect(enter(answer)).rejects.toMatchObject(spent);
  });

  test('with two passkeys at once opens two sessions', async () => {
    const passkeys = [await addPasskey('One'), await addPasskey('Two')];
    const opened = await Promise.all(passkeys.map((passkey) => signIn(passkey)));
    for (const { session: cookie } of opened) await harness.authenticate(cookie);
  });
});
