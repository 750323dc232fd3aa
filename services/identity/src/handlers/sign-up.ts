import { newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import type { Passwords } from '@commonplace/kit/passwords';
import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import { type Collection, type Store, UniqueTaken } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import type { Mailer } from '@commonplace/platform/mail';
import type { AuthService, SignInResponse, SignUpRequest } from '@commonplace/proto/identity/v1/auth_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Settings } from '../config.js';
import { type PasswordRules, requireGoodPassword } from '../domain/new-password.js';
import { credentialIdOf } from '../domain/session.js';
import { newUser, toUser } from '../domain/user.js';
import { AccountExists, InvitationRequired, SignUpClosed, unknownLink } from '../errors.js';
import { sessionStarted, userCreated } from '../events.js';
import type { Homes } from '../homes.js';
import type { Mails } from '../mails.js';
import { awaitsVerification, sendVerification } from '../security/email.js';
import type { Sessions } from '../sessions.js';
import type { SignUpLimit } from '../sign-up-limit.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';
import { type UserRecord, userByEmail } from '../stores/users.js';
import type { Throttle } from '../throttle.js';

export interface SignUpParts {
  readonly settings: Pick<Settings, 'signUp'>;
  readonly passwordRules: PasswordRules;
  readonly log: Log;
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly directory: Client<DirectoryService>;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
  readonly signUpLimit: SignUpLimit;
  readonly sessions: Sessions;
  readonly homes: Homes;
  readonly mailer: Mailer;
  readonly mails: Mails;
  readonly oneTimeTokens: OneTimeTokens;
  readonly now: () => number;
}

/** Creates the handler that signs up local accounts, with an address and a password. */
export function createSignUpHandlers(parts: SignUpParts): Pick<Handlers<AuthService>, 'signUp'> {
  return {
    signUp: (request, context) => parts.throttle.attempt(request, () => signUp(request, context, parts)),
  };
}

/**
 * Creates an account. Accounts without an invitation are limited per hour; an invitation admits one account by
 * itself.
 */
async function signUp(request: SignUpRequest, context: CallContext, parts: SignUpParts): Promise<SignInResponse> {
  await admit(request, context, parts);
  const make = () => createAccount(request, context, parts);
  return request.invitationToken === '' ? parts.signUpLimit.count(request.clientIp, make) : make();
}

async function createAccount(
  request: SignUpRequest,
  context: CallContext,
  parts: SignUpParts,
): Promise<SignInResponse> {
  if ((await userByEmail(parts.users, foldEmail(request.email))) !== undefined) throw AccountExists();
  const { email, name } = request;
  await requireGoodPassword('password', request.password, { email, name }, parts.passwordRules);
  const passwordHash = await parts.passwords.hash(request.password);

  // The account is committed here rather than with the response: an invitation must never be used up for an account
  // that does not exist.
  const work = parts.store.begin();
  const user = work.insert(parts.users, newUser({ id: newId(), email, name, passwordHash, now: parts.now() }));
  const session = parts.sessions.begin(work, user, request);
  work.publish(userCreated(context, user));
  const { id } = session.record;
  const started = { credentialId: credentialIdOf(id), method: 'sign_up', clientIp: request.clientIp } as const;
  work.publish(sessionStarted(context, started, user));
  sendVerification(user, work, parts);
  await work.commit().catch((error: unknown) => {
    throw error instanceof UniqueTaken ? AccountExists({}, { cause: error }) : error;
  });

  await setUpAccount(user, request.invitationToken, context, parts);
  const { cookie, csrfToken, record } = session;
  return { user: toUser(user), session: cookie, csrfToken, expiresAt: record.expiresAt, secondFactor: undefined };
}

/** Throws if sign-up is not allowed for the address. */
async function admit(
  { email, invitationToken }: SignUpRequest,
  context: CallContext,
  parts: SignUpParts,
): Promise<void> {
  const mode = parts.settings.signUp;
  if (mode === 'closed') throw SignUpClosed();
  if (invitationToken === '') {
    if (mode === 'invite') throw InvitationRequired();
    return;
  }
  const invitation = await parts.directory.getInvitation({ token: invitationToken }, context.onward).catch(unknownLink);
  // If invitations are required, each admits only the account of its address.
  const isOpen = mode === 'open' && invitation.anyAccount;
  if (!isOpen && foldEmail(invitation.email) !== foldEmail(email)) throw InvitationRequired();
}

/**
 * Creates the new account's workspace and accepts the invitation. The account stays even if this fails: its
 * workspace is created at the next sign-in at the latest, and the invitation can be accepted again.
 */
async function setUpAccount(user: UserRecord, token: string, context: CallContext, parts: SignUpParts): Promise<void> {
  const person = { userId: user.id, userName: user.name, userEmail: user.email };
  try {
    await parts.homes.ensure(user, context.onward);
    if (token === '') return;
    if (await awaitsVerification(user, token, context, parts)) {
      const message = 'Open the link in the e-mail that was sent to your address to accept the invitation.';
      context.reply.warnings = [{ code: 'email_not_verified', message }];
    } else await parts.directory.acceptInvitation({ token, ...person }, context.onward);
  } catch (error) {
    parts.log.warn('identity.sign_up_unsettled', { request_id: context.requestId, user_id: user.id, error });
    const message = 'The account was created, but is not fully set up. Sign in, and open the invitation again.';
    context.reply.warnings = [{ code: 'sign_up_unsettled', message }];
  }
}
