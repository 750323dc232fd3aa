import { invalidField } from '@commonplace/kit/errors';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';

/**
 * Returns the member who inherits what a leaving member owns: the one that the request names, or the Org's oldest
 * other owner; undefined if there is no other owner. Throws `invalid_value` if the named member cannot inherit.
 */
export async function findSuccessor(
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
