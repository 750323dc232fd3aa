import { invalidField } from '@commonplace/kit/errors';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';

/**
 * Who gets what a leaving member leaves behind: the member named, or the Org's oldest owner; undefined
 * where there is no other owner. Throws `invalid_value` for a receiver who can't receive.
 */
export async function heirOf(
  { orgMembers }: Parts,
  leaving: OrgMember,
  receiverId: string | undefined,
): Promise<OrgMember | undefined> {
  if (receiverId === undefined) {
    const owners = await orgMembers.owners(leaving.orgId);
    return owners.find(({ id }) => id !== leaving.id);
  }
  const receiver = receiverId === leaving.id ? undefined : await orgMembers.records.get(receiverId);
  if (receiver?.orgId !== leaving.orgId || receiver.status !== 'active') {
    throw invalidField('transfer_to_member_id', 'invalid_value', 'must be another active member of this Org.');
  }
  return receiver;
}
