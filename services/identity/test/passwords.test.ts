import { type Mailbox, openMailbox } from '@commonplace/kit/testing/mailbox';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import { parseSecrets } from '../src/domain/secrets.js';
import { openSecurityAdmin } from '../src/security-admin.js';
import { passkeyCollection } from '../src/stores/passkeys.js';
import { mailCollection } from './support/collections.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { everyScope, makeKey } from './support/people.js';

const HOUR = 3_600_000;
const OLD = 'correct horse battery';
const NEW = 'staple battery horse';
const ada = {
  email: 'Ada@Example.com',
  clientIp: '192.0.2.1',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
};

let harness: Harness;
let mailbox: Mailbox;
beforeEach(async () => {
  mailbox = await openMailbox();
  harness = await openHarness({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_SMTP_URL: mailbox.url,
    COMMONPLACE_PUBLIC_URL: 'https://wiki.example.com',
  });
  await harness.auth.signUp({ ...ada, password: OLD, name: 'Ada', invitationToken: '' }, harness.call());
  await mailbox.next(ada.email, /verify-email/);
});
afterEach(async () => {
  await harness.close();
  await mailbox.close();
});

const signIn = (password = OLD) => harness.auth.signIn({ ...ada, password, code: '' }, harness.call());
const change = (session: string, currentPassword: string, newPassword: string) =>
  harness.security.changePassword({ session, currentPassword, newPassword, code: '', clientIp: '' }, harness.call());
const askReset = (email: string, clientIp = '192.0.2.1') =>
  harness.security.requestPasswordReset({ email, clientIp }, harness.call());
const reset = (token: string, newPassword = NEW) =>
  harness.security.resetPassword({ token, newPassword, clientIp: '' }, harness.call());
const resetToken = async () =>
  (await mailbox.next('Ada@Example.com', /https:\/\/wiki\.example\.com\/auth\/reset-password\?token=([\w-]{43})/))[1] ??
  '';

describe('changing a password', () => {
  test('requires the current one, ends all other sessions, and notifies the person', async () => {
    const [mine, other] = [await signIn(), await signIn()];
    await expect(change(mine.session, 'wrong', NEW)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'wrong_password',
    });
    const { sessionsEnded } = await change(mine.session, OLD, NEW);
    expect(sessionsEnded).toBe(2);
    await harness.authenticate(mine.session);
    await expect(harness.authenticate(other.session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(signIn(OLD)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await signIn(NEW);
    await mailbox.next('Ada@Example.com', /password of your account at wiki\.example\.com was changed/);
  });

  test("refuses common passwords, the same one, and one derived from the person's data", async () => {
    const { session } = await signIn();
    for (const password of ['password1', OLD, 'ada@example.com']) {
      await expect(change(session, OLD, password)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'weak_password',
        param: 'new_password',
      });
    }
    await signIn(OLD);
  });

  test('ends a session that the old password opens concurrently', async () => {
    const { session } = await signIn();
    const signs = Array.from({ length: 8 }, () => signIn().catch(() => undefined));
    await change(session, OLD, NEW);
    for (const signed of await Promise.all(signs)) {
      if (signed !== undefined) await expect(harness.authenticate(signed.session)).rejects.toThrow();
    }
    await harness.authenticate(session);
  });

  test('limits attempts to guess the current password', async () => {
    const { session } = await signIn();
    const reasons = new Set<string>();
    for (let tries = 0; tries < 130; tries++) {
      reasons.add(
        await change(session, 'wrong', NEW)
          .catch(({ reason }: { reason: string }) => reason)
          .then(String),
      );
      if (reasons.has('rate_limited')) break;
    }
    expect(reasons).toEqual(new Set(['wrong_password', 'rate_limited']));
  }, 120_000);
});

describe('resetting a password', () => {
  test('works by a link in an e-mail, once, and ends every session', async () => {
    const { session } = await signIn();
    await askReset('ada@example.com');
    const token = await resetToken();
    expect((await reset(token)).sessionsEnded).toBe(2);
    await expect(harness.authenticate(session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(reset(token, 'yet another one')).rejects.toMatchObject({ code: 'NOT_FOUND', reason: 'expired_link' });
    await signIn(NEW);
  });

  test('verifies the address of an account, and ends all that was set up before', async () => {
    const { user, session } = await signIn();
    const acme = harness.directory.addOrg('Acme');
    harness.directory.join(user?.id ?? '', acme, OrgRole.ADMIN);
    const personal = await makeKey(harness, session, { scopes: everyScope });
    const org = await makeKey(harness, session, { orgId: acme });
    const { secret } = await harness.security.beginTotp({ session }, harness.call());
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: harness.now() });
    await harness.security.confirmTotp({ session, code, clientIp: '' }, harness.call());
    const passkeys = await harness.store.collection(passkeyCollection);
    const work = harness.store.begin();
    const passkey = { credentialId: 'c', publicKey: 'k', counter: 0, transports: [], synced: false, name: 'Key' };
    work.insert(passkeys, { id: 'c', userId: user?.id ?? '', createdAt: new Date(0).toISOString(), ...passkey });
    await work.commit();
    const types: string[] = [];
    await harness.bus.watch(['commonplace.identity.user.reclaimed'], ({ type }) => types.push(type));

    await askReset(ada.email);
    await reset(await resetToken());
    for (const { key } of [personal, org]) {
      await expect(harness.authenticate(key)).rejects.toMatchObject({ reason: 'revoked_key' });
    }
    expect(await passkeys.count({})).toBe(0);
    const fresh = await signIn(NEW);
    const overview = await harness.security.getSecurity({ session: fresh.session }, harness.call());
    expect(overview).toMatchObject({ emailVerified: true, totpEnabled: false });
    expect(harness.directory.acceptedAddresses).toEqual([expect.objectContaining({ userId: user?.id })]);
    await mailbox.next(ada.email, /Somebody else could have created the account/);
    expect(types).toHaveLength(1);

    // The address is verified now: a further reset keeps what its owner sets up.
    const kept = await makeKey(harness, fresh.session);
    await askReset(ada.email);
    await reset(await resetToken(), 'battery staple horse');
    await harness.authenticate(kept.key);
  });

  test("by the operator's link verifies nothing, and keeps API keys", async () => {
    const { key } = await makeKey(harness, (await signIn()).session);
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    await reset((await admin.issueResetLink(ada.email, HOUR)).token);
    await harness.authenticate(key);
    const { session } = await signIn(NEW);
    expect((await harness.security.getSecurity({ session }, harness.call())).emailVerified).toBe(false);
  });

  test('answers the same for an unknown address, and writes as much', async () => {
    const records = await harness.store.collection(mailCollection);
    expect(await askReset('nobody@example.com')).toEqual(await askReset('ada@example.com'));
    await resetToken();
    expect(mailbox.received).toEqual([]);
    for (const until = Date.now() + 20_000; (await records.count({})) > 0 && Date.now() < until; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await records.count({})).toBe(0);
  });

  test('stores no token in plain text, not even in a queued e-mail', async () => {
    mailbox.refuse(451, 100);
    await askReset('ada@example.com');
    const waiting = await (await harness.store.collection(mailCollection)).find({ where: {}, limit: 10 });
    expect(waiting).toHaveLength(1);
    expect(waiting[0]?.content).toMatch(/^v1\./);
    expect(JSON.stringify(waiting)).not.toContain('reset-password');
  });

  test('is refused after an hour, after its use, and after another password was set', async () => {
    await askReset('ada@example.com');
    const late = await resetToken();
    harness.pass(HOUR + 1000);
    await expect(reset(late)).rejects.toMatchObject({ reason: 'expired_link' });
    await askReset('ada@example.com');
    const outrun = await resetToken();
    const { session } = await signIn();
    await change(session, OLD, NEW);
    await expect(reset(outrun)).rejects.toMatchObject({ reason: 'expired_link' });
    await expect(reset('x'.repeat(43))).rejects.toMatchObject({ reason: 'expired_link' });
  });

  test('is limited per address, known or not, and per network', async () => {
    const outcomes = async (email: string) => {
      const all = [];
      for (let i = 0; i < 7; i++)
        all.push(
          await askReset(email).then(
            () => 'sent',
            ({ reason }) => reason,
          ),
        );
      return all;
    };
    const expected = [...Array(5).fill('sent'), 'rate_limited', 'rate_limited'];
    expect(await outcomes('ada@example.com')).toEqual(expected);
    expect(await outcomes('nobody@example.com')).toEqual(expected);
  });

  test('and verifying an address remain possible whatever others attempt', async () => {
    await harness.restart({
      COMMONPLACE_SIGN_UP: 'open',
      COMMONPLACE_SIGN_IN_TRIES: '1',
      COMMONPLACE_SMTP_URL: mailbox.url,
      COMMONPLACE_PUBLIC_URL: 'https://wiki.example.com',
    });
    const { security, call } = harness;
    const token = 'x'.repeat(43);
    for (let i = 0; i < 12; i++) {
      const clientIp = `198.51.100.${i}`;
      const guesses = [
        security.resetPassword({ token, newPassword: NEW, clientIp }, call()),
        security.verifyEmail({ token, clientIp }, call()),
      ];
      for (const guess of guesses) await expect(guess).rejects.toMatchObject({ reason: 'expired_link' });
    }
    await askReset(ada.email);
    const reset = { token: await resetToken(), newPassword: NEW, clientIp: '192.0.2.1' };
    expect(await security.resetPassword(reset, call())).toMatchObject({ sessionsEnded: expect.any(Number) });
  });

  test('works after an outage of the mail server, and after a restart', async () => {
    mailbox.refuse(451, 1);
    await askReset('ada@example.com');
    await harness.restart({
      COMMONPLACE_SIGN_UP: 'open',
      COMMONPLACE_SMTP_URL: mailbox.url,
      COMMONPLACE_PUBLIC_URL: 'https://wiki.example.com',
    });
    harness.pass(HOUR / 2);
    await reset(await resetToken());
  });
});

describe('the operator', () => {
  test('generates a password that opens one session, in which it has to be replaced', async () => {
    const before = await signIn();
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    const { password, sessionsEnded } = await admin.resetPassword('ada@example.com');
    expect(sessionsEnded).toBe(2);
    await expect(harness.authenticate(before.session)).rejects.toThrow();
    await expect(signIn(OLD)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    const { session } = await signIn(password);
    expect(await harness.security.getSecurity({ session }, harness.call())).toMatchObject({
      passwordChangeRequired: true,
    });
    await expect(signIn(password)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await change(session, password, NEW);
    expect(await harness.security.getSecurity({ session }, harness.call())).toMatchObject({
      passwordChangeRequired: false,
    });
    await signIn(NEW);
  });

  test('disables an account, whose credentials are refused until it is enabled again', async () => {
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    const { session, user } = await signIn();
    const { key } = await makeKey(harness, session);
    const { token } = await admin.issueResetLink('ada@example.com', HOUR);
    const act = () => {
      const limits = { agent: undefined, automation: undefined, workspaceIds: [], chain: [] };
      const request = { userId: user?.id ?? '', orgId: '', scopes: ['resource:read'], ...limits };
      return harness.auth.actAs(request, harness.call());
    };
    await act();
    expect(await admin.disable('ADA@example.com')).toMatchObject({ sessionsEnded: 2 });
    await expect(harness.authenticate(session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(harness.authenticate(key)).rejects.toMatchObject({ reason: 'suspended_key' });
    await expect(signIn()).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(reset(token)).rejects.toMatchObject({ reason: 'expired_link' });
    await expect(act()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(admin.disable('ada@example.com')).rejects.toThrow('already disabled');
    await admin.enable('ada@example.com');
    await harness.authenticate((await signIn()).session);
    await harness.authenticate(key);
    await expect(harness.authenticate(session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(reset(token)).rejects.toMatchObject({ reason: 'expired_link' });
  });

  test('generates a reset link', async () => {
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    const { token } = await admin.issueResetLink('ada@example.com', HOUR);
    await signIn(OLD);
    await reset(token);
    await signIn(NEW);
    await expect(admin.issueResetLink('nobody@example.com', HOUR)).rejects.toThrow('no account has the address');
  });
});

describe('a session', () => {
  const list = async (session: string) => (await harness.security.listSessions({ session }, harness.call())).items;

  test('is listed with its device and network, and ends when its person ends it', async () => {
    const mine = await signIn();
    const other = await harness.auth.signIn(
      { ...ada, password: OLD, clientIp: '2001:db8::1', userAgent: '', code: '' },
      harness.call(),
    );
    const items = await list(mine.session);
    expect(items).toHaveLength(3);
    expect(items.filter(({ current }) => current)).toEqual([
      expect.objectContaining({ device: 'Firefox on Linux', network: '192.0.2.1' }),
    ]);
    expect(JSON.stringify(items)).not.toContain(other.session);
    const { id = '' } = items.find(({ network }) => network === '2001:db8::/64') ?? {};
    await harness.security.endSession({ session: mine.session, sessionId: id }, harness.call());
    await expect(harness.authenticate(other.session)).rejects.toThrow();
    await expect(
      harness.security.endSession({ session: mine.session, sessionId: id }, harness.call()),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await harness.security.endOtherSessions({ session: mine.session }, harness.call())).toEqual({
      sessionsEnded: 1,
    });
    expect(await list(mine.session)).toHaveLength(1);
  });

  test('of another person is not found', async () => {
    const eve = await harness.auth.signUp(
      { ...ada, email: 'eve@example.com', password: OLD, name: 'Eve', invitationToken: '' },
      harness.call(),
    );
    const [hers] = await list((await signIn()).session);
    await expect(
      harness.security.endSession({ session: eve.session, sessionId: hers?.id ?? '' }, harness.call()),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('can create API keys for half an hour after its person has authenticated', async () => {
    const { session } = await signIn();
    await makeKey(harness, session);
    harness.pass(31 * 60_000);
    await expect(makeKey(harness, session)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'reauthentication_required',
    });
    const proof = (password: string) =>
      harness.security.reauthenticate({ session, password, code: '', clientIp: '' }, harness.call());
    await expect(proof('wrong')).rejects.toMatchObject({ reason: 'wrong_password' });
    const { session: renewed } = await proof(OLD);
    await makeKey(harness, renewed);
  });

  test('gets a new cookie after each reauthentication, and the previous one becomes invalid', async () => {
    const first = await signIn();
    const proof = (session: string) =>
      harness.security.reauthenticate({ session, password: OLD, code: '', clientIp: '' }, harness.call());
    const { session: second, expiresAt } = await proof(first.session);
    await expect(harness.authenticate(first.session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    await expect(proof(first.session)).rejects.toMatchObject({ reason: 'invalid_credentials' });
    const { session: third } = await proof(second);
    const opened = await harness.auth.getSession({ session: third }, harness.call());
    // The session is the same one: it does not last longer, and open pages keep their token for writes.
    expect([opened.csrfToken, opened.expiresAt, expiresAt]).toEqual([
      first.csrfToken,
      first.expiresAt,
      first.expiresAt,
    ]);
    expect(new Set([first.session, second, third]).size).toBe(3);
  });

  test('gets one new cookie from two concurrent reauthentications', async () => {
    const { session } = await signIn();
    const proof = () =>
      harness.security.reauthenticate({ session, password: OLD, code: '', clientIp: '' }, harness.call()).then(
        () => 'renewed',
        (error: { reason: string }) => error.reason,
      );
    expect((await Promise.all([proof(), proof()])).sort()).toEqual(['invalid_credentials', 'renewed']);
  });

  test('can end others only after a recent sign-in, and itself at any time', async () => {
    const [{ session }, other] = [await signIn(), await signIn()];
    const all = await list(session);
    const idOf = (current: boolean) => all.find((one) => one.current === current)?.id ?? '';
    const end = (current: boolean) =>
      harness.security.endSession({ session, sessionId: idOf(current) }, harness.call());
    const endOthers = () => harness.security.endOtherSessions({ session }, harness.call());
    harness.pass(31 * 60_000);
    await expect(end(false)).rejects.toMatchObject({ reason: 'reauthentication_required' });
    await expect(endOthers()).rejects.toMatchObject({ reason: 'reauthentication_required' });
    await harness.authenticate(other.session);
    expect(await end(true)).toEqual({ current: true });
  });
});
