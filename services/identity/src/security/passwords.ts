import { invalidField } from '@commonplace/kit/errors';
import type { Passwords } from '@commonplace/kit/passwords';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import type { Mailer } from '@commonplace/platform/mail';
import type {
  AccountSecurityService,
  ChangePasswordRequest,
  ChangePasswordResponse,
  RequestPasswordResetRequest,
  ResetPasswordRequest,
  ResetPasswordResponse,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type { Settings } from '../config.js';
import { type PasswordRules, requireGoodPassword } from '../domain/new-password.js';
import { ExpiredResetLink, NoPassword, WrongCurrentPassword } from '../errors.js';
import { userPasswordChanged } from '../events.js';
import type { Mails } from '../mails.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';
import type { SessionRecord } from '../stores/sessions.js';
import { activeUser, type UserRecord, userByEmail } from '../stores/users.js';
import type { MailThrottle, Throttle } from '../throttle.js';
import { acceptInvitationsOf, type InvitationParts } from './email.js';
import { endSessions } from './end-sessions.js';
import { type ReclaimParts, reclaimAccount } from './reclaim.js';
import { type SecondFactorParts, spendCode } from './second-factor.js';
import { type SignedIn, type SignedInParts, signedIn } from './signed-in.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'changePassword' | 'requestPasswordReset' | 'resetPassword'>;

export interface PasswordParts extends SignedInParts, SecondFactorParts, ReclaimParts {
  readonly settings: Pick<Settings, 'resetMinutes'>;
  readonly passwordRules: PasswordRules;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
  readonly mailThrottle: MailThrottle;
  readonly sessionRecords: Collection<SessionRecord>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly mailer: Mailer;
  readonly mails: Mails;
  readonly directory: InvitationParts['directory'];
}

/** Creates the handlers that replace the password of a local account. */
export function createPasswordHandlers(parts: PasswordParts): Methods {
  return {
    async changePassword(request, context) {
      const who = await signedIn(request.session, parts);
      const { clientIp } = request;
      return parts.throttle.attempt({ email: who.user.email, clientIp }, () => change(request, who, context, parts));
    },
    async requestPasswordReset(request, context) {
      await parts.mailThrottle.spend(request);
      await requestReset(request, context, parts);
      return {};
    },
    resetPassword: (request, context) => {
      // The token names no account, so that the attempt counts for its network only.
      const who = { email: '', clientIp: request.clientIp };
      return parts.throttle.attempt(who, () => reset(request, context, parts));
    },
  };
}

async function change(
  { currentPassword, newPassword, code, clientIp }: ChangePasswordRequest,
  { user, record }: SignedIn,
  context: CallContext,
  parts: PasswordParts,
): Promise<ChangePasswordResponse> {
  if (user.passwordHash === undefined) throw NoPassword();
  if (!(await parts.passwords.verify(user.passwordHash, currentPassword))) throw WrongCurrentPassword();
  const strong = await spendCode(user.id, { code, clientIp }, context.work, parts);
  if (currentPassword.normalize('NFKC') === newPassword.normalize('NFKC')) {
    throw invalidField('new_password', 'weak_password', 'new_password is the same as the current one.');
  }
  await replacePassword(user, newPassword, 'changed', context, parts);
  const current = await context.work.get(parts.sessionRecords, record.id);
  if (current !== undefined) {
    const authenticatedAt = new Date(parts.now()).toISOString();
    const proven = { authenticatedAt, credentialEpoch: nextEpoch(user), ...(strong ? { strong } : {}) };
    context.work.replace(parts.sessionRecords, current, { ...current, ...proven });
  }
  return { sessionsEnded: await endSessions(user, record.id, context, parts.sessionRecords) };
}

/**
 * Queues a password reset e-mail. It writes the same records for an address without an account, so that both take
 * equally long.
 */
async function requestReset(
  { email }: RequestPasswordResetRequest,
  { work }: CallContext,
  parts: PasswordParts,
): Promise<void> {
  if (!parts.mailer.available) return;
  const { resetMinutes } = parts.settings;
  const found = await userByEmail(parts.users, foldEmail(email));
  const user = found?.passwordHash === undefined || found.disabledAt !== undefined ? undefined : found;
  const token = parts.oneTimeTokens.issue(work, {
    purpose: 'password_reset',
    userId: user?.id ?? '',
    email: user?.email ?? email,
    lifetimeMs: resetMinutes * 60_000,
  });
  const content = parts.mails.passwordReset(user?.name ?? '', token, resetMinutes);
  parts.mailer.enqueue(work, { to: user?.email ?? '', ...content });
}

async function reset(
  { token, newPassword }: ResetPasswordRequest,
  context: CallContext,
  parts: PasswordParts,
): Promise<ResetPasswordResponse> {
  const { work } = context;
  const spent = await parts.oneTimeTokens.find(work, 'password_reset', token);
  const user = spent === undefined || spent.userId === '' ? undefined : await activeUser(parts.users, spent.userId);
  if (spent === undefined || user === undefined) throw ExpiredResetLink();
  // A link that the operator passed on names no address: it proves none.
  const provesAddress = !user.emailVerified && spent.email === user.email;
  await replacePassword(user, newPassword, provesAddress ? 'reclaimed' : 'reset', context, parts);
  if (provesAddress) {
    await reclaimAccount(user, context, parts);
    await acceptInvitationsOf(user, context, parts);
  }
  return { sessionsEnded: await endSessions(user, undefined, context, parts.sessionRecords) };
}

function nextEpoch({ credentialEpoch = 0 }: UserRecord): number {
  return credentialEpoch + 1;
}

/**
 * Sets a new password, revokes open reset links, and notifies the person by e-mail. A `reclaimed` account's address is
 * verified from now on.
 */
async function replacePassword(
  user: UserRecord,
  newPassword: string,
  how: 'changed' | 'reset' | 'reclaimed',
  context: CallContext,
  parts: PasswordParts,
): Promise<void> {
  const { work } = context;
  await requireGoodPassword('new_password', newPassword, user, parts.passwordRules);
  const passwordHash = await parts.passwords.hash(newPassword);
  const { temporaryPassword: _, ...kept } = user;
  const emailVerified = user.emailVerified || how === 'reclaimed';
  work.replace(parts.users, user, { ...kept, passwordHash, emailVerified, credentialEpoch: nextEpoch(user) });
  await parts.oneTimeTokens.revoke(work, user.id, ['password_reset']);
  work.publish(userPasswordChanged(context, user, how === 'changed' ? 'changed' : 'reset'));
  const { accountReclaimed, passwordChanged } = parts.mails;
  const content = how === 'reclaimed' ? accountReclaimed(user.name) : passwordChanged(user.name);
  parts.mailer.enqueue(work, { to: user.email, ...content });
}
