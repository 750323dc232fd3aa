import type { Handlers } from '@commonplace/kit/rpc';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import { createEmailHandlers, type EmailParts } from '../security/email.js';
import { createOidcHandlers, type OidcParts } from '../security/oidc.js';
import { createOverviewHandlers, type OverviewParts } from '../security/overview.js';
import { createPasskeySignInHandlers, type PasskeySignInParts } from '../security/passkey-sign-in.js';
import { createPasskeyHandlers, type PasskeyParts } from '../security/passkeys.js';
import { createPasswordHandlers, type PasswordParts } from '../security/passwords.js';
import { createSessionListHandlers, type SessionListParts } from '../security/sessions.js';
import { createTotpHandlers, type TotpParts } from '../security/totp.js';

type AccountSecurityParts = OverviewParts &
  PasswordParts &
  SessionListParts &
  TotpParts &
  EmailParts &
  OidcParts &
  PasskeyParts &
  PasskeySignInParts;

export function createAccountSecurityHandlers(parts: AccountSecurityParts): Handlers<AccountSecurityService> {
  return {
    ...createOverviewHandlers(parts),
    ...createPasswordHandlers(parts),
    ...createSessionListHandlers(parts),
    ...createTotpHandlers(parts),
    ...createEmailHandlers(parts),
    ...createOidcHandlers(parts),
    ...createPasskeyHandlers(parts),
    ...createPasskeySignInHandlers(parts),
  };
}
