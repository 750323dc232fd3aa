import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { Mailer } from '@commonplace/platform/mail';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import { newRecoveryCodes, normalizeCode } from '../domain/recovery-codes.js';
import { newTotpSecret, stepOfCode, totpUri } from '../domain/totp.js';
import { NoPassword, NoPendingTotp, NoSecondFactor, SecondFactorKept, WrongCode } from '../errors.js';
import { secondFactorChanged } from '../events.js';
import type { Mails } from '../mails.js';
import type { UserRecord } from '../stores/users.js';
import { hashCodes, type SecondFactorParts, secretOwner } from './second-factor.js';
import {
  type RecencyParts,
  recentlySignedIn,
  recentSession,
  type SignedInParts,
  type StrengthParts,
} from './signed-in.js';

type Methods = Pick<
  Handlers<AccountSecurityService>,
  'beginTotp' | 'confirmTotp' | 'removeTotp' | 'renewRecoveryCodes'
>;

export interface TotpParts extends SignedInParts, RecencyParts, SecondFactorParts {
  readonly settings: RecencyParts['settings'] & StrengthParts['settings'];
  readonly mailer: Mailer;
  readonly mails: Mails;
}

/** Milliseconds that a person has to set up an app. */
const PENDING_MS = 30 * 60_000;

/** Creates the handlers of an account's authenticator app (RFC 6238) and recovery codes. */
export function createTotpHandlers(parts: TotpParts): Methods {
  const { secondFactors, envelope, now } = parts;
  const time = () => new Date(now()).toISOString();

  function tell(user: UserRecord, how: 'totp_added' | 'totp_removed' | 'recovery_codes_renewed', context: CallContext) {
    context.work.publish(secondFactorChanged(context, user, how));
    parts.mailer.enqueue(context.work, { to: user.email, ...parts.mails.secondFactorChanged(user.name, how) });
  }

  return {
    async beginTotp({ session }, { work }) {
      const user = await recentlySignedIn(session, parts);
      if (user.passwordHash === undefined) throw NoPassword();
      const secret = newTotpSecret();
      const pending = { secret: envelope.seal(secret, secretOwner(user.id)), createdAt: time() };
      const record = await work.get(secondFactors, user.id);
      if (record === undefined) work.insert(secondFactors, { id: user.id, pending, recoveryCodes: [] });
      else work.replace(secondFactors, record, { ...record, pending });
      return { secret, uri: totpUri(secret, user.email) };
    },

    async confirmTotp({ session, code, clientIp }, context) {
      const { user, record: signedInBy } = await recentSession(session, parts);
      const record = await context.work.get(secondFactors, user.id);
      const { pending, ...kept } = record ?? {};
      if (record === undefined || pending === undefined || Date.parse(pending.createdAt) + PENDING_MS <= now()) {
        throw NoPendingTotp();
      }
      const secret = envelope.open(pending.secret, secretOwner(user.id));
      const lastStep = await parts.codeThrottle.attempt({ email: user.id, clientIp }, async () => {
        const step = stepOfCode(secret, normalizeCode(code), 0, now());
        if (step === undefined) throw WrongCode();
        return step;
      });
      const codes = newRecoveryCodes();
      const totp = { secret: pending.secret, lastStep, addedAt: time() };
      context.work.replace(secondFactors, record, {
        ...kept,
        id: user.id,
        totp,
        recoveryCodes: hashCodes(codes, parts),
      });
      await parts.sessions.strengthen(context.work, signedInBy);
      tell(user, 'totp_added', context);
      return { recoveryCodes: codes };
    },

    async removeTotp({ session }, context) {
      const user = await recentlySignedIn(session, parts);
      const record = await context.work.get(secondFactors, user.id);
      if (record?.totp === undefined) throw NoSecondFactor();
      if (parts.settings.secondFactor === 'required') throw SecondFactorKept();
      context.work.remove(secondFactors, record);
      tell(user, 'totp_removed', context);
      return {};
    },

    async renewRecoveryCodes({ session }, context) {
      const user = await recentlySignedIn(session, parts);
      const record = await context.work.get(secondFactors, user.id);
      if (record?.totp === undefined) throw NoSecondFactor();
      const codes = newRecoveryCodes();
      context.work.replace(secondFactors, record, { ...record, recoveryCodes: hashCodes(codes, parts) });
      tell(user, 'recovery_codes_renewed', context);
      return { recoveryCodes: codes };
    },
  };
}
