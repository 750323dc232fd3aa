import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Mailer } from '@commonplace/platform/mail';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { ExpiredVerificationLink, unknownLink } from '../errors.js';
import { emailVerified } from '../events.js';
import type { Mails } from '../mails.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';
import { activeUser, type UserRecord } from '../stores/users.js';
import type { MailThrottle, Throttle } from '../throttle.js';
import { type SignedInParts, signedIn } from './signed-in.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'requestEmailVerification' | 'verifyEmail'>;

interface VerificationMailParts {
  readonly mailer: Mailer;
  readonly mails: Mails;
  readonly oneTimeTokens: OneTimeTokens;
}

export interface InvitationParts {
  readonly mailer: Mailer;
  readonly directory: Client<DirectoryService>;
}

export interface EmailParts extends SignedInParts, VerificationMailParts, InvitationParts {
  readonly throttle: Throttle;
  readonly mailThrottle: MailThrottle;
}

const VERIFICATION_MS = 3 * 24 * 3_600_000;

/** Adds an e-mail to a unit of work, with a link by which a person verifies their address. */
export function sendVerification(user: UserRecord, work: UnitOfWork, parts: VerificationMailParts): void {
  if (!parts.mailer.available) return;
  const { id: userId, email, name } = user;
  const token = parts.oneTimeTokens.issue(work, {
    purpose: 'email_verification',
    userId,
    email,
    lifetimeMs: VERIFICATION_MS,
  });
  parts.mailer.enqueue(work, { to: email, ...parts.mails.verification(name, token) });
}

/** Creates the handlers that verify e-mail addresses. */
export function createEmailHandlers(parts: EmailParts): Methods {
  return {
    async requestEmailVerification({ session, clientIp }, { work }) {
      const { user } = await signedIn(session, parts);
      if (user.emailVerified || !parts.mailer.available) return { sent: false };
      await parts.mailThrottle.spend({ email: user.email, clientIp });
      sendVerification(user, work, parts);
      return { sent: true };
    },

    verifyEmail({ token, clientIp }, context) {
      return parts.throttle.attempt({ email: '', clientIp }, async () => {
        const spent = await parts.oneTimeTokens.find(context.work, 'email_verification', token);
        const user = spent === undefined ? undefined : await activeUser(parts.users, spent.userId);
        if (spent === undefined || user === undefined || spent.email !== user.email) throw ExpiredVerificationLink();
        if (!user.emailVerified) context.work.replace(parts.users, user, { ...user, emailVerified: true });
        parts.oneTimeTokens.spend(context.work, spent);
        return { email: user.email, invitationsJoined: await acceptInvitationsOf(user, context, parts) };
      });
    },
  };
}

/**
 * Accepts the open invitations for a person's address, which the calling handler verifies, and publishes that if it was
 * not verified before. Returns the number of accepted invitations.
 */
export async function acceptInvitationsOf(
  user: UserRecord,
  context: CallContext,
  { directory }: Pick<InvitationParts, 'directory'>,
): Promise<number> {
  const { id: userId, email, name: userName } = user;
  const { accepted } = await directory.acceptVerifiedAddress({ email, userId, userName }, context.onward);
  if (!user.emailVerified) context.work.publish(emailVerified(context, user));
  return accepted;
}

/**
 * Returns whether an invitation waits for the verification of the person's address: it is for that address, which
 * is not verified yet, and this server can send e-mail. Throws `expired_link`.
 */
export async function awaitsVerification(
  user: UserRecord,
  token: string,
  context: CallContext,
  parts: InvitationParts,
): Promise<boolean> {
  if (!parts.mailer.available || user.emailVerified) return false;
  const invitation = await parts.directory.getInvitation({ token }, context.onward).catch(unknownLink);
  return !invitation.anyAccount;
}
