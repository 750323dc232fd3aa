import { defineConflict, defineError, defineForbidden, defineNotFound } from '@commonplace/kit/errors';

export const RoleEscalation = defineForbidden(
  'role_escalation',
  'You cannot grant a role above your own, which is {own}.',
);
export const ExternalSharingDisabled = defineForbidden(
  'external_sharing_disabled',
  'The Org does not allow members or guests from outside.',
);
export const InvitationAddressMismatch = defineForbidden(
  'invitation_address_mismatch',
  'This invitation is for another e-mail address. Sign in with an account of that address, or ask for an invitation to yours.',
);
export const EmailDomainNotAllowed = defineForbidden(
  'email_domain_not_allowed',
  'Members of this Org need an e-mail address at one of these domains: {domains}.',
);

export const ExpiredLink = defineNotFound('expired_link', 'This link is no longer valid.');

/** Conflicts with the current state; all of them answer HTTP 409. */
export const SlugTaken = defineConflict('slug_taken', 'The slug {slug} is taken.');
export const GroupNameTaken = defineError(
  'ALREADY_EXISTS',
  'already_exists',
  'The Org has a group with the name {name} already.',
);
export const AlreadyMember = defineConflict('already_member', 'This person is already a member.');
export const LastOwner = defineConflict(
  'last_owner',
  'The last owner can neither leave nor give up the role. Make another member an owner first.',
);
