import { invalidField } from '@commonplace/kit/errors';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';

/**
 * Returns the member who gets the API keys of a leaving member; undefined if the keys are suspended. A key acts as its
 * receiver, with all that this person may do and see, and the person who leaves knows its secret. So nobody gives keys
 * away when they leave, and administrators take them over only themselves; an owner may name anyone.
 */
export function receiverOfKeys(
  remover: Pick<OrgMember, 'id' | 'role'>,
  leaving: Pick<OrgMember, 'id'>,
  receiver: OrgMember | undefined,
): OrgMember | undefined {
  if (remover.id === leaving.id) return undefined;
  return remover.role === 'owner' || receiver?.id === remover.id ? receiver : undefined;
}

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
