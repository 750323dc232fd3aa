import { AppError, defineError } from '@commonplace/kit/errors';

const refuse = (reason: string, message: string) => defineError('UNAUTHENTICATED', reason, message);
const forbid = (reason: string, message: string) => defineError('PERMISSION_DENIED', reason, message);

export const MissingCredentials = refuse('missing_credentials', 'A credential is needed.');
export const InvalidCredentials = refuse('invalid_credentials', 'The credential is not valid.');
export const WrongPassword = refuse('invalid_credentials', 'The e-mail address or the password is wrong.');
export const ExpiredCredentials = refuse('expired_credentials', 'The credential has expired.');
export const RevokedKey = refuse('revoked_key', 'This API key was revoked.');
export const SuspendedKey = refuse('suspended_key', 'The person whom this API key acts as is not a member any more.');
export const UnknownPerson = refuse(
  'invalid_credentials',
  'The token is valid, but belongs to nobody here, and its issuer may not add people.',
);
export const AddressNotProven = refuse(
  'invalid_credentials',
  'Somebody here has the address of this token, and it is not proven that it is the same person.',
);
export const NoAddress = refuse('invalid_credentials', 'The issuer tells no e-mail address that may be used here.');

export const IpNotAllowed = forbid('ip_not_allowed', 'This API key may not be used from this address.');
export const OrgAdminRequired = forbid('org_admin_required', 'Only administrators of the Org may do this.');
export const ScopeEscalation = forbid('scope_escalation', 'A credential can not grant what it does not have itself.');
export const SignUpClosed = forbid('sign_up_closed', 'New accounts can not be made here.');
export const InvitationRequired = forbid('invitation_required', 'A new account needs an invitation for this address.');

export const ExpiredLink = defineError('NOT_FOUND', 'expired_link', 'The invitation is used up, revoked or expired.');
export const AccountExists = defineError('ALREADY_EXISTS', 'already_exists', 'An account with this address exists.');
export const LimitReached = defineError('ABORTED', 'limit_reached', 'There can be no more than {limit} API keys.');
export const RateLimited = defineError('RESOURCE_EXHAUSTED', 'rate_limited', 'Too many failed tries. Wait a while.');
export const IssuerUnavailable = defineError(
  'UNAVAILABLE',
  'dependency_unavailable',
  'The identity provider {issuer} can not be reached.',
);

/** What tenancy says of a token that is worth nothing any more, as a person who opens a link understands it. */
export function unknownLink(error: unknown): never {
  throw error instanceof AppError && error.code === 'NOT_FOUND' ? ExpiredLink({}, { cause: error }) : error;
}
