import { AppError } from '@commonplace/kit/errors';
import type { Passwords } from '@commonplace/kit/passwords';
import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import { type Collection, inWork, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import type { Mailer } from '@commonplace/platform/mail';
import type {
  AuthService,
  CompleteSignInRequest,
  SignInRequest,
  SignInResponse,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { CredentialAudit } from '../audit.js';
import type { PurposeKeys } from '../domain/secrets.js';
import { credentialIdOf, type SessionOrigin } from '../domain/session.js';
import { CHALLENGE_MS, readChallenge, signChallenge } from '../domain/sign-in-challenge.js';
import { toUser } from '../domain/user.js';
import { EmailNotVerified, ExpiredChallenge, unknownLink, WrongPassword } from '../errors.js';
import { sessionEnded } from '../events.js';
import type { Homes } from '../homes.js';
import { awaitsVerification } from '../security/email.js';
import { hasSecondFactor, type SecondFactorParts, spendCode } from '../security/second-factor.js';
import { requireStrength, type SignedInParts, type StrengthParts, signedIn } from '../security/signed-in.js';
import type { SessionRecord } from '../stores/sessions.js';
import { activeUser, type UserRecord, userByEmail } from '../stores/users.js';
import type { Throttle } from '../throttle.js';

type Methods = Pick<Handlers<AuthService>, 'signIn' | 'completeSignIn' | 'signOut' | 'getSession' | 'acceptInvitation'>;

export interface SessionHandlerParts extends SignedInParts, StrengthParts, SecondFactorParts {
  readonly store: Store;
  readonly sessionRecords: Collection<SessionRecord>;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
  readonly keys: Pick<PurposeKeys, 'challenges' | 'oneTimeTokens'>;
  readonly homes: Homes;
  readonly directory: Client<DirectoryService>;
  readonly mailer: Mailer;
  readonly audit: CredentialAudit;
}

/** Creates the handlers of browser sessions of local accounts. */
export function createSessionHandlers(parts: SessionHandlerParts): Methods {
  const { sessions, sessionRecords, homes, throttle, directory } = parts;

  /** Returns the session of a cookie, and records that it was used. */
  async function inUse(cookie: string) {
    const found = await signedIn(cookie, parts);
    sessions.touch(found.record);
    return found;
  }

  return {
    signIn: (request, context) => throttle.attempt(request, () => signIn(request, context, parts)),

    completeSignIn: (request, context) => completeSignIn(request, context, parts),

    async signOut({ session: cookie }, context) {
      const session = await sessions.find(cookie);
      if (session !== undefined) {
        context.work.remove(sessionRecords, session.record);
        const user = await parts.users.get(session.record.userId);
        context.work.publish(sessionEnded(context, credentialIdOf(session.record.id), user));
      }
      return {};
    },

    async getSession({ session: cookie }) {
      const { user, csrfToken, record } = await inUse(cookie);
      return { user: toUser(user), session: '', csrfToken, expiresAt: record.expiresAt, secondFactor: undefined };
    },

    async acceptInvitation({ session: cookie, invitationToken }, context) {
      const { user, record } = await inUse(cookie);
      requireStrength(record, user, parts);
      if (await awaitsVerification(user, invitationToken, context, parts)) throw EmailNotVerified();
      await homes.ensure(user, context.onward);
      const person = { userId: user.id, userName: user.name, userEmail: user.email };
      return directory.acceptInvitation({ token: invitationToken, ...person }, context.onward).catch(unknownLink);
    },
  };
}

async function signIn(
  request: SignInRequest,
  context: CallContext,
  parts: SessionHandlerParts,
): Promise<SignInResponse> {
  const found = await userByEmail(parts.users, foldEmail(request.email));
  const matches = await parts.passwords.verify(found?.passwordHash, request.password);
  if (found === undefined || found.disabledAt !== undefined || !matches || isSpent(found, parts)) {
    throw refused(WrongPassword(), found, request, context, parts);
  }
  await parts.homes.tryEnsure(found, context);
  if (request.code === '' && (await hasSecondFactor(found.id, parts))) return challengeOf(found, parts);
  return openSession(found, request, context, parts);
}

function challengeOf(
  { id: userId, credentialEpoch: epoch = 0 }: UserRecord,
  { keys, now }: SessionHandlerParts,
): SignInResponse {
  const expires = now() + CHALLENGE_MS;
  const challenge = signChallenge(keys.challenges, { userId, epoch, expires });
  const secondFactor = { challenge, methods: ['totp', 'recovery_code'], expiresAt: new Date(expires).toISOString() };
  return { user: undefined, session: '', csrfToken: '', expiresAt: undefined, secondFactor };
}

/**
 * Completes a sign-in with a second factor. Attempts are limited per account, since whoever makes them knows its
 * password.
 */
async function completeSignIn(
  request: CompleteSignInRequest,
  context: CallContext,
  parts: SessionHandlerParts,
): Promise<SignInResponse> {
  const challenge = readChallenge(parts.keys.challenges, request.challenge, parts.now());
  const user = challenge === undefined ? undefined : await activeUser(parts.users, challenge.userId);
  if (user === undefined || challenge?.epoch !== (user.credentialEpoch ?? 0)) throw ExpiredChallenge();
  if (isSpent(user, parts)) throw ExpiredChallenge();
  return openSession(user, request, context, parts);
}

/** Where a sign-in comes from, with the code of a second factor. */
type CodeRequest = SessionOrigin & { readonly code: string };

/** Records a refused sign-in for the audit log. Returns the error to throw. */
function refused(
  error: AppError,
  user: UserRecord | undefined,
  { clientIp }: SessionOrigin,
  { requestId }: CallContext,
  { audit }: SessionHandlerParts,
): AppError {
  audit.signInFailed(user, error.reason, { clientIp, requestId });
  return error;
}

/** Uses up the code of a sign-in, and records it for the audit log if it is refused. Returns whether one was needed. */
async function spendCodeOf(
  user: UserRecord,
  request: CodeRequest,
  context: CallContext,
  work: UnitOfWork,
  parts: SessionHandlerParts,
): Promise<boolean> {
  return spendCode(user.id, request, work, parts).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'UNAUTHENTICATED'
      ? refused(error, user, request, context, parts)
      : error;
  });
}

/** Returns whether a generated password has expired or has already opened its one session. */
function isSpent({ temporaryPassword }: UserRecord, { now }: SessionHandlerParts): boolean {
  return (
    temporaryPassword !== undefined && (temporaryPassword.used || Date.parse(temporaryPassword.expiresAt) <= now())
  );
}

/**
 * Opens a session for a person whose password was verified, and a second factor if they have one. What can be used once
 * is used up before: of two requests with the same code only one has opened a session, also in the audit log.
 */
async function openSession(
  user: UserRecord,
  origin: CodeRequest,
  context: CallContext,
  parts: SessionHandlerParts,
): Promise<SignInResponse> {
  const strong = await inWork(parts.store, async (work) => {
    const isStrong = await spendCodeOf(user, origin, context, work, parts);
    if (user.temporaryPassword !== undefined) await spendTemporaryPassword(user, work, parts);
    return isStrong;
  });
  const { cookie, csrfToken, record } = await parts.sessions.start(
    user,
    origin,
    { method: 'password', strong },
    context,
  );
  return { user: toUser(user), session: cookie, csrfToken, expiresAt: record.expiresAt, secondFactor: undefined };
}

async function spendTemporaryPassword(
  { id, passwordHash }: UserRecord,
  work: UnitOfWork,
  parts: SessionHandlerParts,
): Promise<void> {
  const user = await work.get(parts.users, id);
  if (user?.temporaryPassword === undefined || user.passwordHash !== passwordHash || isSpent(user, parts)) {
    throw WrongPassword();
  }
  work.replace(parts.users, user, { ...user, temporaryPassword: { ...user.temporaryPassword, used: true } });
}
