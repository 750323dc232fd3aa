import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { INVITATION_MS } from '../config.js';
import { hashToken, inviteUrl, newToken } from '../domain/invitation.js';
import { foldEmail } from '../domain/text.js';
import { publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import type { Invitation } from '../stores/invitations.js';
import type { OrgMember } from '../stores/org-members.js';

/** What an invitation is about. */
export type Offer = Omit<Invitation, 'id' | 'version' | 'tokenHash' | 'emailFold' | 'createdAt' | 'expiresAt'>;

/** Makes an invitation and gives its one-time link, which the answer shows as `invite_url`. */
export function issueInvitation(parts: Parts, context: CallContext, offer: Offer): string {
  const token = newToken();
  const now = parts.now();
  context.work.insert(parts.invitations.records, {
    ...offer,
    id: newId(),
    tokenHash: hashToken(token),
    emailFold: foldEmail(offer.email),
    createdAt: now,
    expiresAt: expiryOf(now),
  });
  context.once('inviteUrl');
  return inviteUrl(parts.settings.publicUrl, token);
}

/** When an invitation of a moment ends. */
export function expiryOf(invitedAt: string): string {
  return new Date(Date.parse(invitedAt) + INVITATION_MS).toISOString();
}

/** Takes invitations back: their tokens are worthless. */
export function revokeInvitations(parts: Parts, context: CallContext, invitations: readonly Invitation[]): void {
  for (const invitation of invitations) context.work.remove(parts.invitations.records, invitation);
}

/** Takes back all that offers a place in a workspace, and with the last such offer the guest's place in the Org. */
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
  if (left.every(({ id }) => revoked.some((one) => one.id === id))) vacate(parts, context, guest);
}

/** Ends a place in an Org; the record stays as history and frees the person and the address. */
export function vacate(parts: Parts, context: CallContext, member: OrgMember, transferToUserId = ''): OrgMember {
  const { personKey: _person, addressKey: _address, ...rest } = member;
  const removed = context.work.replace(parts.orgMembers.records, member, {
    ...rest,
    status: 'removed',
    updatedAt: parts.now(),
  });
  // The event tells who went, also of a place that was only offered.
  publishOrgMember(context, 'removed', member.status === 'invited' ? { ...removed, userId: undefined } : removed, {
    transferToUserId,
  });
  return removed;
}
