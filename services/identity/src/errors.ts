import { AppError, defineConflict, defineError, defineForbidden, defineNotFound } from '@commonplace/kit/errors';

const refuse = (reason: string, message: string) => defineError('UNAUTHENTICATED', reason, message);
const forbid = (reason: string, message: string) => defineForbidden(reason, message);

export const MissingCredentials = refuse('missing_credentials', 'A credential is required.');
export const InvalidCredentials = refuse('invalid_credentials', 'The credential is not valid.');
export const WrongPassword = refuse('invalid_credentials', 'The e-mail address or the password is wrong.');
export const ExpiredCredentials = refuse('expired_credentials', 'The credential has expired.');
export const RevokedKey = refuse('revoked_key', 'This API key was revoked.');
export const SuspendedKey = refuse(
  'suspended_key',
  'The person whom this API key acts as is no longer a member, or their account is disabled.',
);
export const UnknownPerson = refuse(
  'invalid_credentials',
  'The token is valid, but its person has no account here, and its issuer may not create one.',
);
export const AddressNotProven = refuse(
  'invalid_credentials',
  'An account here has this e-mail address, and the identity provider has not verified that it is yours.',
);
export const AccountNotProven = refuse(
  'invalid_credentials',
  'An account here has this e-mail address, which nobody has verified yet. Sign in with the password of that account and verify the address first, or ask the operator of this server.',
);
export const AccountDisabled = refuse('invalid_credentials', 'The operator of this server has disabled the account.');
export const NoAccessToken = refuse('invalid_credentials', 'The token is valid, but it is not an access token.');
export const AuthenticationTooWeak = refuse(
  'invalid_credentials',
  'The identity provider has not authenticated this person as this server requires ({claim}). Sign in again there.',
);
export const NoAddress = refuse('invalid_credentials', 'The issuer provides no e-mail address that may be used here.');

export const WrongCurrentPassword = forbid('wrong_password', 'The current password is wrong.');
export const ReauthenticationRequired = forbid(
  'reauthentication_required',
  'Confirm who you are with your password, and a code if you have an authenticator app: the last time was more than {minutes} minutes ago, or before you added the app.',
);
export const WrongCode = forbid('wrong_code', 'The code is wrong, has expired or was already used.');
export const SecondFactorRequired = forbid(
  'second_factor_required',
  'A code of the authenticator app or a recovery code is required.',
);
export const SecondFactorSetupRequired = forbid(
  'second_factor_required',
  'This server requires a second factor: add an authenticator app or a passkey at {url}, then sign in with it.',
);
export const SecondFactorKept = forbid(
  'second_factor_required',
  'This server requires a second factor. Set up another authenticator app to replace this one.',
);
export const EmailNotVerified = forbid(
  'email_not_verified',
  'The invitation is for an address that is not verified yet: open the link in the e-mail that was sent to it.',
);
export const NoPassword = forbid('no_password', 'This account has no password: it signs in with an identity provider.');
export const PasskeyNotVerified = forbid(
  'passkey_not_verified',
  'The passkey could not be verified: {why} Begin again.',
);
export const WrongPasskey = refuse('invalid_credentials', 'The passkey is not valid here. It may have been removed.');
export const NoPasskey = defineNotFound('not_found', 'The account has no such passkey.');
export const PasskeyExists = defineError('ALREADY_EXISTS', 'already_exists', 'This passkey was already added.');
export const PasskeyLimit = defineConflict('limit_reached', 'There can be no more than {limit} passkeys.');
export const IpNotAllowed = forbid('ip_not_allowed', 'This API key may not be used from this address.');
export const OthersKey = forbid('insufficient_role', 'Only the person whom this API key acts as can rotate it.');
export const ScopeEscalation = forbid(
  'scope_escalation',
  'A credential cannot give a key more than it has itself: scopes, networks or time.',
);
export const SignUpClosed = forbid('sign_up_closed', 'New accounts cannot be created here.');
export const InvitationRequired = forbid('invitation_required', 'A new account needs an invitation for this address.');

const ExpiredLink = defineNotFound('expired_link', 'The invitation was already used, was revoked or has expired.');
export const NoSecondFactor = defineNotFound('not_found', 'The account has no second factor.');
export const NoPendingTotp = defineNotFound('not_found', 'No authenticator app is being added. Begin again.');
export const OidcRefused = refuse(
  'invalid_credentials',
  'The identity provider did not confirm who you are ({reason}). Begin again.',
);
export const NoOidc = defineNotFound('not_found', 'No identity provider is set up here.');
export const ExpiredChallenge = refuse('expired_credentials', 'The sign-in took too long. Begin again.');
export const ExpiredVerificationLink = defineNotFound('expired_link', 'The link was already used or has expired.');
export const ExpiredResetLink = defineNotFound(
  'expired_link',
  'The link was already used or has expired. Request a new one.',
);
export const AccountExists = defineError('ALREADY_EXISTS', 'already_exists', 'An account with this address exists.');
export const LimitReached = defineConflict('limit_reached', 'There can be no more than {limit} API keys.');
export const RateLimited = defineError(
  'RESOURCE_EXHAUSTED',
  'rate_limited',
  'Too many failed attempts. Try again later.',
);
export const SignUpsLimited = defineError(
  'RESOURCE_EXHAUSTED',
  'rate_limited',
  'Too many new accounts. Try again later.',
);
export const IssuerUnavailable = defineError(
  'UNAVAILABLE',
  'dependency_unavailable',
  'The identity provider {issuer} cannot be reached.',
);

/**
 * Rethrows tenancy's NotFound for an invitation token as `expired_link`, which a person who opens a link
 * understands.
 */
export function unknownLink(error: unknown): never {
  throw error instanceof AppError && error.code === 'NOT_FOUND' ? ExpiredLink({}, { cause: error }) : error;
}
