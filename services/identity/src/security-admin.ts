import { createEvent, type DomainEvent, OPERATOR } from '@commonplace/kit/events';
import { createPasswords } from '@commonplace/kit/passwords';
import { LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import { deriveKeys } from './domain/secrets.js';
import { credentialIdOf } from './domain/session.js';
import { passkeyFacts } from './events.js';
import { OperatorError } from './key-admin.js';
import { generatePassword } from './passwords.js';
import { createOneTimeTokens, oneTimeTokenCollection } from './stores/one-time-tokens.js';
import { passkeyCollection, passkeysOf } from './stores/passkeys.js';
import { secondFactorCollection } from './stores/second-factors.js';
import { type SessionRecord, sessionCollection, sessionsOf } from './stores/sessions.js';
import { type UserRecord, userByEmail, userCollection } from './stores/users.js';

/** A generated password that an operator passes on to a person. */
interface IssuedPassword {
  readonly email: string;
  /** Opens one session, in which the person has to replace it. */
  readonly password: string;
  readonly expiresAt: string;
  readonly sessionsEnded: number;
}

/** A password reset token that an operator passes on to a person. */
interface IssuedLink {
  readonly email: string;
  readonly token: string;
  readonly expiresAt: string;
}

/** The result of resetting a second factor. */
interface SecondFactorReset {
  readonly email: string;
  readonly passkeysRemoved: number;
  readonly sessionsEnded: number;
}

/** The number of sessions that were ended, of one person or of all people. */
interface SessionsEnded {
  readonly email?: string;
  readonly sessionsEnded: number;
}

/** Operator commands on accounts: recovery and ending access. */
export interface SecurityAdmin {
  /** Ends all sessions of a person, or of all people without an address. Their API keys stay valid. */
  endSessions(email?: string): Promise<SessionsEnded>;
  /** Refuses every credential of a person from now on, and ends all their sessions. Their data and roles stay. */
  disable(email: string): Promise<SessionsEnded>;
  /** Lets a person whose account was disabled sign in again. Their API keys are accepted again. */
  enable(email: string): Promise<{ readonly email: string }>;
  /** Replaces a person's password with a generated one, and ends all their sessions. */
  resetPassword(email: string): Promise<IssuedPassword>;
  /** Deletes a person's second factor and passkeys, and ends all their sessions. */
  resetSecondFactor(email: string): Promise<SecondFactorReset>;
  /** Issues a one-time password reset token. The current password stays valid until the token is used. */
  issueResetLink(email: string, lifetimeMs: number): Promise<IssuedLink>;
}

/** Maximum number of sessions that one commit ends. */
const END_BATCH = 500;
/** Milliseconds for which a generated password opens a session. */
const TEMPORARY_PASSWORD_MS = 24 * 3_600_000;

/** Opens account recovery directly on the store. `secrets` are those of identity's settings. */
export async function openSecurityAdmin(
  store: Store,
  secrets: readonly Buffer[],
  now: () => number = Date.now,
): Promise<SecurityAdmin> {
  const users = await store.collection(userCollection);
  const sessions = await store.collection(sessionCollection);
  const secondFactors = await store.collection(secondFactorCollection);
  const passkeys = await store.collection(passkeyCollection);
  const tokens = createOneTimeTokens(
    await store.collection(oneTimeTokenCollection),
    deriveKeys(secrets).oneTimeTokens,
    now,
  );
  const after = (milliseconds: number) => new Date(now() + milliseconds).toISOString();

  async function personOf(email: string): Promise<UserRecord> {
    const user = await userByEmail(users, foldEmail(email));
    if (user === undefined) throw new OperatorError(`no account has the address ${email}`, true);
    return user;
  }

  function end(work: UnitOfWork, ending: readonly SessionRecord[]): number {
    for (const session of ending) {
      const credentialId = credentialIdOf(session.id);
      work.remove(sessions, session);
      work.publish(byOperator('session.ended', credentialId, { credentialId, userId: session.userId }, after(0)));
    }
    return ending.length;
  }

  async function endSessions(work: UnitOfWork, userId: string): Promise<number> {
    return end(work, await sessionsOf(sessions, userId));
  }

  /** Ends the sessions of all people, a batch in each commit. A session that is used at the same moment is read again. */
  async function endEverySession(): Promise<number> {
    for (let ended = 0; ; ) {
      const batch = await sessions.find({ where: {}, limit: END_BATCH });
      if (batch.length === 0) return ended;
      const work = store.begin();
      end(work, batch);
      try {
        await work.commit();
        ended += batch.length;
      } catch (error) {
        if (!(error instanceof LostRace)) throw error;
      }
    }
  }

  return {
    async endSessions(email) {
      if (email === undefined) return { sessionsEnded: await endEverySession() };
      const user = await personOf(email);
      const work = store.begin();
      // Sessions that are opened concurrently have the previous epoch, so they end as well.
      work.replace(users, user, { ...user, credentialEpoch: (user.credentialEpoch ?? 0) + 1 });
      const sessionsEnded = await endSessions(work, user.id);
      await work.commit();
      return { email: user.email, sessionsEnded };
    },

    async disable(email) {
      const user = await personOf(email);
      if (user.disabledAt !== undefined) throw new OperatorError(`the account of ${user.email} is already disabled`);
      const work = store.begin();
      const credentialEpoch = (user.credentialEpoch ?? 0) + 1;
      work.replace(users, user, { ...user, disabledAt: after(0), credentialEpoch });
      await tokens.revoke(work, user.id, ['password_reset']);
      const sessionsEnded = await endSessions(work, user.id);
      work.publish(byOperator('user.disabled', user.id, personFacts(user), after(0)));
      await work.commit();
      return { email: user.email, sessionsEnded };
    },

    async enable(email) {
      const user = await personOf(email);
      const { disabledAt, version: _, ...enabled } = user;
      if (disabledAt === undefined) throw new OperatorError(`the account of ${user.email} is not disabled`);
      const work = store.begin();
      work.replace(users, user, enabled);
      work.publish(byOperator('user.enabled', user.id, personFacts(user), after(0)));
      await work.commit();
      return { email: user.email };
    },

    async resetPassword(email) {
      const passwords = await createPasswords();
      const user = await personOf(email);
      const password = generatePassword();
      const passwordHash = await passwords.hash(password);
      const expiresAt = after(TEMPORARY_PASSWORD_MS);
      const work = store.begin();
      work.replace(users, user, {
        ...user,
        passwordHash,
        temporaryPassword: { expiresAt, used: false },
        credentialEpoch: (user.credentialEpoch ?? 0) + 1,
      });
      await tokens.revoke(work, user.id, ['password_reset']);
      const sessionsEnded = await endSessions(work, user.id);
      const data = { ...personFacts(user), how: 'operator' };
      work.publish(byOperator('user.password_changed', user.id, data, after(0)));
      await work.commit();
      return { email: user.email, password, expiresAt, sessionsEnded };
    },

    async resetSecondFactor(email) {
      const user = await personOf(email);
      const factor = await secondFactors.get(user.id);
      const keys = await passkeysOf(passkeys, user.id);
      if (factor === undefined && keys.length === 0) throw new OperatorError(`${user.email} has no second factor`);
      const work = store.begin();
      if (factor !== undefined) work.remove(secondFactors, factor);
      for (const passkey of keys) {
        work.remove(passkeys, passkey);
        const removed = { ...personFacts(user), ...passkeyFacts(passkey) };
        work.publish(byOperator('user.passkey_removed', user.id, removed, after(0)));
      }
      work.replace(users, user, { ...user, credentialEpoch: (user.credentialEpoch ?? 0) + 1 });
      const sessionsEnded = await endSessions(work, user.id);
      const data = { ...personFacts(user), how: 'operator_reset' };
      work.publish(byOperator('user.second_factor_changed', user.id, data, after(0)));
      await work.commit();
      return { email: user.email, passkeysRemoved: keys.length, sessionsEnded };
    },

    async issueResetLink(email, lifetimeMs) {
      const user = await personOf(email);
      const work = store.begin();
      const token = tokens.issue(work, { purpose: 'password_reset', userId: user.id, lifetimeMs });
      await work.commit();
      return { email: user.email, token, expiresAt: after(lifetimeMs) };
    },
  };
}

function personFacts({ id: userId, name: userName }: UserRecord) {
  return { userId, userName };
}

function byOperator(type: string, subject: string, data: object, time: string): DomainEvent {
  return createEvent({ service: 'identity', type, subject, data, time, actor: OPERATOR });
}
