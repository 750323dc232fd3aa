import { createEnvelope } from '@commonplace/kit/secrets';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import { deriveKeys, parseSecrets } from '../src/domain/secrets.js';
import { openSecurityAdmin } from '../src/security-admin.js';
import { secondFactorCollection } from '../src/stores/second-factors.js';
import { type Harness, openHarness, SECRET } from './support/harness.js';
import { makeKey } from './support/people.js';

const PASSWORD = 'correct horse battery';
const STEP_MS = 30_000;
const ada = { email: 'ada@example.com', clientIp: '192.0.2.1', userAgent: '' };

let harness: Harness;
let session: string;
beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SIGN_IN_TRIES: '5' });
  const signed = await harness.auth.signUp(
    { ...ada, password: PASSWORD, name: 'Ada', invitationToken: '' },
    harness.call(),
  );
  session = signed.session;
});
afterEach(() => harness.close());

const signIn = (code = '') => harness.auth.signIn({ ...ada, password: PASSWORD, code }, harness.call());
const complete = (challenge: string, code: string, clientIp = '192.0.2.1') =>
  harness.auth.completeSignIn({ challenge, code, clientIp, userAgent: '' }, harness.call());
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: harness.now() + steps * STEP_MS });

/** Adds an app, and advances the clock to the beginning of a step at which the code that confirmed it has expired. */
async function enroll() {
  const { secret, uri } = await harness.security.beginTotp({ session }, harness.call());
  const code = codeOf(secret);
  const { recoveryCodes } = await harness.security.confirmTotp({ session, code, clientIp: '' }, harness.call());
  harness.pass(3 * STEP_MS - (harness.now() % STEP_MS));
  return { secret, uri, recoveryCodes };
}
const challenge = async () => (await signIn()).secondFactor?.challenge ?? '';

describe('an authenticator app', () => {
  test('is a second step of signing in from its first code on', async () => {
    await harness.security.beginTotp({ session }, harness.call());
    expect((await signIn()).secondFactor).toBeUndefined();
    const { secret, uri, recoveryCodes } = await enroll();
    expect(uri).toMatch(/^otpauth:\/\/totp\/Commonplace:ada%40example\.com\?/);
    expect(recoveryCodes).toHaveLength(10);
    const first = await signIn();
    expect(first).toMatchObject({ user: undefined, session: '', secondFactor: { methods: ['totp', 'recovery_code'] } });
    const done = await complete(first.secondFactor?.challenge ?? '', codeOf(secret));
    await harness.authenticate(done.session);
  });

  test('gives codes that work once, with a tolerance of one step before and after', async () => {
    const { secret } = await enroll();
    await expect(complete(await challenge(), codeOf(secret, 3))).rejects.toMatchObject({ reason: 'wrong_code' });
    await complete(await challenge(), codeOf(secret, -1));
    await complete(await challenge(), codeOf(secret, 0));
    await expect(complete(await challenge(), codeOf(secret, 0))).rejects.toMatchObject({ reason: 'wrong_code' });
    await expect(complete(await challenge(), codeOf(secret, -1))).rejects.toMatchObject({ reason: 'wrong_code' });
    await complete(await challenge(), codeOf(secret, 1));
  });

  test('gives a code that opens only one of many sessions that request it at once', async () => {
    const { secret } = await enroll();
    const code = codeOf(secret);
    const given = await Promise.all([await challenge(), await challenge(), await challenge()]);
    const outcomes = await Promise.all(
      given.map((one) =>
        complete(one, code).then(
          () => 'in',
          ({ reason }) => reason,
        ),
      ),
    );
    expect(outcomes.sort()).toEqual(['in', 'wrong_code', 'wrong_code']);
    // That of the sign-up, and one more.
    expect((await harness.security.listSessions({ session }, harness.call())).items).toHaveLength(2);
  });

  test('can be sent with the password, and does not help without the right one', async () => {
    const { secret } = await enroll();
    await expect(
      harness.auth.signIn({ ...ada, password: 'wrong', code: codeOf(secret) }, harness.call()),
    ).rejects.toMatchObject({ reason: 'invalid_credentials' });
    expect((await signIn(codeOf(secret))).session).not.toBe('');
    await expect(complete('forged.challenge', codeOf(secret, 1))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('can be guessed only a few times, from however many networks', async () => {
    const { secret } = await enroll();
    const one = await challenge();
    const reasons: string[] = [];
    for (let place = 1; place <= 7; place++) {
      reasons.push(
        await complete(one, '000000', `192.0.2.${place}`).then(
          () => 'in',
          ({ reason }) => reason,
        ),
      );
    }
    expect(reasons).toEqual([...Array(5).fill('wrong_code'), 'rate_limited', 'rate_limited']);
    await expect(complete(one, codeOf(secret))).rejects.toMatchObject({ reason: 'rate_limited' });
  });

  test('is required after a password reset by a link, which opens no session itself', async () => {
    const { secret } = await enroll();
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    const { token } = await admin.issueResetLink(ada.email, STEP_MS);
    const reset = await harness.security.resetPassword(
      { token, newPassword: 'another good staple', clientIp: '' },
      harness.call(),
    );
    expect(reset).toEqual({ sessionsEnded: expect.any(Number) });
    const first = await harness.auth.signIn({ ...ada, password: 'another good staple', code: '' }, harness.call());
    expect(first).toMatchObject({ user: undefined, session: '', secondFactor: { methods: ['totp', 'recovery_code'] } });
    await harness.authenticate((await complete(first.secondFactor?.challenge ?? '', codeOf(secret))).session);
  });

  test('and its recovery codes have enough random bits', async () => {
    const { secret, recoveryCodes } = await enroll();
    expect(codeOf(secret)).toMatch(/^\d{6}$/);
    expect(Buffer.from(Secret.fromBase32(secret).bytes).length * 8).toBeGreaterThanOrEqual(128);
    const characters = recoveryCodes.map((code) => code.replaceAll('-', ''));
    // 28 characters from an alphabet of 32 have 140 bits.
    for (const code of characters) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{28}$/);
    expect(new Set(characters.flatMap((code) => [...code])).size).toBeGreaterThan(20);
    expect(new Set(characters).size).toBe(10);
  });

  test('is not stored in plain text', async () => {
    const { secret, recoveryCodes } = await enroll();
    const stored = JSON.stringify(
      await (await harness.store.collection(secondFactorCollection)).find({ where: {}, limit: 9 }),
    );
    for (const text of [secret, ...recoveryCodes]) expect(stored).not.toContain(text);
  });

  test('opens no session after five minutes, or after another password was set', async () => {
    const { secret } = await enroll();
    const [late, outrun] = [await challenge(), await challenge()];
    const change = { session, currentPassword: PASSWORD, newPassword: 'another horse battery', clientIp: '' };
    await expect(harness.security.changePassword({ ...change, code: '' }, harness.call())).rejects.toMatchObject({
      reason: 'second_factor_required',
    });
    await harness.security.changePassword({ ...change, code: codeOf(secret) }, harness.call());
    await expect(complete(outrun, codeOf(secret, 1))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    harness.pass(5 * 60_000);
    await expect(complete(late, codeOf(secret))).rejects.toMatchObject({ reason: 'expired_credentials' });
  });

  test('survives a rotation of the secret key, also when the old one is removed', async () => {
    const { secret } = await enroll();
    const next = 'another secret that is long enough for it';
    const env = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SECRET_KEY: `${next},${SECRET}` };
    await harness.restart(env);
    const records = await harness.store.collection(secondFactorCollection);
    const keys = deriveKeys(parseSecrets(env.COMMONPLACE_SECRET_KEY));
    for (const until = Date.now() + 20_000; Date.now() < until; ) {
      const [record] = await records.find({ where: {}, limit: 1 });
      if (record?.totp !== undefined && isUnder(record.totp.secret, keys.envelope)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await harness.restart({ ...env, COMMONPLACE_SECRET_KEY: next });
    await complete(await challenge(), codeOf(secret));
  });

  test('is removed by its person, or by the operator when it is lost', async () => {
    const { secret, recoveryCodes } = await enroll();
    await harness.security.removeTotp({ session }, harness.call());
    expect((await signIn()).session).not.toBe('');
    await enroll();
    const admin = await openSecurityAdmin(harness.store, parseSecrets(SECRET), harness.now);
    expect(await admin.resetSecondFactor(ada.email)).toMatchObject({ email: ada.email });
    await expect(harness.authenticate(session)).rejects.toThrow();
    expect((await signIn()).session).not.toBe('');
    await expect(admin.resetSecondFactor(ada.email)).rejects.toThrow('no second factor');
    expect([secret, recoveryCodes.length]).toEqual([expect.any(String), 10]);
  });

  test('is added and removed only after recent authentication', async () => {
    harness.pass(31 * 60_000);
    await expect(harness.security.beginTotp({ session }, harness.call())).rejects.toMatchObject({
      reason: 'reauthentication_required',
    });
  });

  test('is neither removed nor replaced by a session that has only the password', async () => {
    const { session: other } = await signIn();
    const { secret } = await enroll();
    const call = harness.call;
    const attempts = [
      () => harness.security.beginTotp({ session: other }, call()),
      () => harness.security.removeTotp({ session: other }, call()),
      () => harness.security.renewRecoveryCodes({ session: other }, call()),
      () => harness.security.beginPasskeyRegistration({ session: other }, call()),
      () => harness.security.endOtherSessions({ session: other }, call()),
      () => makeKey(harness, other),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({ reason: 'reauthentication_required' });
    }
    const { recentUntil = '' } = await harness.security.getSecurity({ session: other }, call());
    expect(Date.parse(recentUntil)).toBeLessThan(harness.now());
    const proof = { session: other, password: PASSWORD, code: codeOf(secret), clientIp: '' };
    const proven = await harness.security.reauthenticate(proof, call());
    await harness.security.removeTotp({ session: proven.session }, call());
  });
});

describe('a recovery code', () => {
  test('opens the account once, in any notation', async () => {
    const { recoveryCodes } = await enroll();
    const [code = '', other = ''] = recoveryCodes;
    await complete(await challenge(), code.toUpperCase().replaceAll('-', ' '));
    await expect(complete(await challenge(), code)).rejects.toMatchObject({ reason: 'wrong_code' });
    const { recoveryCodesLeft } = await harness.security.getSecurity({ session }, harness.call());
    expect(recoveryCodesLeft).toBe(9);
    const renewed = await harness.security.renewRecoveryCodes({ session }, harness.call());
    await expect(complete(await challenge(), other)).rejects.toMatchObject({ reason: 'wrong_code' });
    await complete(await challenge(), renewed.recoveryCodes[0] ?? '');
  });
});

function isUnder(sealed: string, keys: readonly Buffer[]): boolean {
  return createEnvelope(keys).isCurrent(sealed);
}

describe('if the operator requires a second factor', () => {
  beforeEach(() => harness.restart({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SECOND_FACTOR: 'required' }));
  const REQUIRED = { code: 'PERMISSION_DENIED', reason: 'second_factor_required' };
  const security = (session: string) => harness.security.getSecurity({ session }, harness.call());

  test('a session opened by a password alone can only set one up', async () => {
    const { session } = await signIn();
    await expect(harness.authenticate(session)).rejects.toMatchObject(REQUIRED);
    const joining = { session, invitationToken: 'x' };
    await expect(harness.auth.acceptInvitation(joining, harness.call())).rejects.toMatchObject(REQUIRED);
    expect(await security(session)).toMatchObject({ secondFactorRequired: true, totpEnabled: false });
    const { secret } = await harness.security.beginTotp({ session }, harness.call());
    await harness.security.confirmTotp({ session, code: codeOf(secret), clientIp: '' }, harness.call());
    await harness.authenticate(session);
    expect(await security(session)).toMatchObject({ secondFactorRequired: false, totpEnabled: true });
    await expect(harness.security.removeTotp({ session }, harness.call())).rejects.toMatchObject(REQUIRED);
    harness.pass(60_000);
    const again = await signIn(codeOf(secret));
    await harness.authenticate(again.session);
  });

  test('an existing session passes after its next reauthentication', async () => {
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open' });
    const { session } = await signIn();
    await harness.authenticate(session);
    const { secret } = await enroll();
    await harness.restart({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SECOND_FACTOR: 'required' });
    await expect(harness.authenticate(session)).rejects.toMatchObject(REQUIRED);
    const proof = { session, password: PASSWORD, code: codeOf(secret), clientIp: '' };
    const renewed = await harness.security.reauthenticate(proof, harness.call());
    await harness.authenticate(renewed.session);
  });
});
