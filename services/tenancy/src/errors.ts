import { AppError, defineError } from '@commonplace/kit/errors';

export const RoleEscalation = defineError(
  'PERMISSION_DENIED',
  'role_escalation',
  'Nobody grants a role above their own: yours is {own}.',
);
export const ExternalSharingDisabled = defineError(
  'PERMISSION_DENIED',
  'external_sharing_disabled',
  'The Org does not let people from outside in.',
);
export const InvitationAddressMismatch = defineError(
  'PERMISSION_DENIED',
  'invitation_address_mismatch',
  'This invitation is for another e-mail address. Sign in with an account of that address, or ask for an invitation to yours.',
);
export const EmailDomainNotAllowed = defineError(
  'PERMISSION_DENIED',
  'email_domain_not_allowed',
  'The Org takes members with an e-mail address of {domains} only.',
);

/**
 * Returns the error for a credential that lacks `scope`. An export requires the read scope of everything that it
 * contains.
 */
export function insufficientScope(scope: string): AppError {
  return new AppError('PERMISSION_DENIED', 'insufficient_scope', `This needs the scope ${scope}.`, {
    details: { scope },
  });
}

export const ExpiredLink = defineError('NOT_FOUND', 'expired_link', 'This link is not good any more.');

/** Conflicts with the current state; all of them answer HTTP 409. */
export const SlugTaken = conflict('slug_taken', 'The slug {slug} is taken.');
export const AlreadyMember = conflict('already_member', 'This person is a member already.');
export const LastOwner = conflict('last_owner', 'The last owner can neither leave nor lose the role.');
export const LimitReached = conflict('limit_reached', 'There may be no more than {limit} {what}.');
export const WorkspaceArchived = conflict('workspace_archived', 'The workspace is archived and can not be changed.');

function conflict(reason: string, template: string): (details?: Record<string, unknown>) => AppError {
  return defineError('ABORTED', reason, template);
}
