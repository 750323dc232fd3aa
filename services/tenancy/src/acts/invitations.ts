import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import type { Mail } from '@commonplace/platform/mail';
import { INVITATION_MS } from '../config.js';
import { hashToken, inviteUrl, newToken } from '../domain/invitation.js';
import { invitationMail } from '../domain/invitation-mail.js';
import { publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import type { Invitation } from '../stores/invitations.js';
import type { OrgMember } from '../stores/org-members.js';
import { changedNow } from './changed-now.js';

/** The contents of a new invitation. */
type Offer = Omit<Invitation, 'id' | 'version' | 'tokenHash' | 'emailFold' | 'createdAt' | 'expiresAt'>;

/**
 * Creates an invitation and e-mails it if e-mail is configured. Returns its one-time link, which the response shows
 * as `invite_url`.
 */
export async function issueInvitation(
  parts: Parts,
  context: CallContext,
  offer: Offer,
  placeName: string,
): Promise<string> {
  const token = newToken();
  const now = parts.now();
  const inviterName = context.caller.userName;
  context.work.insert(parts.invitations.records, {
    ...offer,
    inviterName,
    id: newId(),
    tokenHash: hashToken(token),
    emailFold: foldEmail(offer.email),
    createdAt: now,
    expiresAt: expiryOf(now),
  });
  context.once('inviteUrl');
  const url = inviteUrl(parts.settings.publicUrl, token);
  await sendInvitation(parts, context, invitationMail({ ...offer, inviterName, placeName, url }));
  return url;
}

/** Adds the e-mail to the call's work. Beyond the limits it is not sent, and the response warns of that. */
async function sendInvitation(parts: Parts, { work, caller, reply }: CallContext, mail: Mail): Promise<void> {
  if (!parts.mailer.available) return;
  if (await parts.mailLimit.admits({ senderId: caller.userId, to: mail.to })) return parts.mailer.enqueue(work, mail);
  const message = 'The invitation was not e-mailed: too many were within an hour. Send its link yourself.';
  reply.warnings = [...(reply.warnings ?? []), { code: 'mail_not_sent', message }];
}

/** Returns the expiry of an invitation made at `invitedAt`. */
export function expiryOf(invitedAt: string): string {
  return new Date(Date.parse(invitedAt) + INVITATION_MS).toISOString();
}

/** Deletes invitations, so that their tokens become invalid. */
export function revokeInvitations(parts: Parts, context: CallContext, invitations: readonly Invitation[]): void {
  for (const invitation of invitations) context.work.remove(parts.invitations.records, invitation);
}

/**
 * Revokes all invitations to a workspace membership. If they were the last ones that lead to a guest's membership
 * of the Org, ends that too.
 */
export async function revokeWorkspaceOffers(
  parts: Parts,
  context: CallContext,
  workspaceMemberId: string,
): Promise<void> {
  const revoked = await parts.invitations.ofWorkspaceMember(workspaceMemberId);
  revokeInvitations(parts, context, revoked);
  const [orgMemberId] = revoked.flatMap((invitation) => invitation.orgMemberId ?? []);
  if (orgMemberId === undefined) return;
  const guest = await context.work.get(parts.orgMembers.records, orgMemberId);
  if (guest?.status !== 'invited' || !guest.viaWorkspace) return;
  const left = await parts.invitations.ofOrgMember(orgMemberId);
  if (left.every(({ id }) => revoked.some((one) => one.id === id))) endOrgMembership(parts, context, guest);
}

/**
 * Ends a membership of an Org. The record stays as history; the person and the address become free to be invited
 * again.
 */
export function endOrgMembership(
  parts: Parts,
  context: CallContext,
  member: OrgMember,
  transferToUserId = '',
): OrgMember {
  const { personKey: _person, addressKey: _address, ...rest } = member;
  const removed = context.work.replace(parts.orgMembers.records, member, {
    ...rest,
    status: 'removed',
    ...changedNow(parts, context),
  });
  // The event names the person who left; for a membership that was only offered it names no one.
  publishOrgMember(context, 'removed', member.status === 'invited' ? { ...removed, userId: undefined } : removed, {
    transferToUserId,
  });
  return removed;
}
