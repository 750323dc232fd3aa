import type { Passwords } from '@commonplace/kit/passwords';
import type { Handlers } from '@commonplace/kit/rpc';
import type { Mailer } from '@commonplace/platform/mail';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import { toUser } from '../domain/user.js';
import { NoPassword, WrongCurrentPassword } from '../errors.js';
import type { Throttle } from '../throttle.js';
import { type SecondFactorParts, spendCode } from './second-factor.js';
import {
  lacksStrength,
  type RecencyParts,
  recentUntil,
  type SignedInParts,
  type StrengthParts,
  signedIn,
} from './signed-in.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'getSecurity' | 'reauthenticate'>;

export interface OverviewParts extends SignedInParts, RecencyParts, SecondFactorParts {
  readonly settings: RecencyParts['settings'] & StrengthParts['settings'];
  readonly mailer: Mailer;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
}

/** Creates the handlers that describe how an account is protected, and that reauthenticate its owner. */
export function createOverviewHandlers(parts: OverviewParts): Methods {
  return {
    async getSecurity({ session: cookie }) {
      const { user, record } = await signedIn(cookie, parts);
      const factor = await parts.secondFactors.get(user.id);
      return {
        user: toUser(user),
        emailVerified: user.emailVerified,
        hasPassword: user.passwordHash !== undefined,
        passwordChangeRequired: user.temporaryPassword !== undefined,
        mailAvailable: parts.mailer.available,
        recentUntil: new Date(recentUntil(record, factor, parts)).toISOString(),
        totpEnabled: factor?.totp !== undefined,
        recoveryCodesLeft: factor?.recoveryCodes.length ?? 0,
        secondFactorRequired: lacksStrength(record, user, parts),
      };
    },

    async reauthenticate({ session: cookie, password, code, clientIp }, context) {
      const { user, record } = await signedIn(cookie, parts);
      const { passwordHash, email } = user;
      if (passwordHash === undefined) throw NoPassword();
      await parts.throttle.attempt({ email, clientIp }, async () => {
        if (!(await parts.passwords.verify(passwordHash, password))) throw WrongCurrentPassword();
      });
      const strong = await spendCode(user.id, { code, clientIp }, context.work, parts);
      const { record: proven, cookie: session } = await parts.sessions.renew(context.work, record, strong);
      const { expiresAt } = proven;
      const factor = await parts.secondFactors.get(user.id);
      return { recentUntil: new Date(recentUntil(proven, factor, parts)).toISOString(), session, expiresAt };
    },
  };
}
