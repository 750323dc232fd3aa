import type { DomainEvent } from '@commonplace/kit/events';
import type { OrgMemberChanged, WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { type Draft, orgOf, personBehind } from './draft.js';

/**
 * Returns the draft for a new member of a workspace. It notifies the member if another person added them, and the inviter if
 * the person joined by themselves.
 */
export function workspaceMemberAdded(event: DomainEvent): Draft[] {
  const { workspaceId = '', userId = '', role, addedByUserId = '' } = event.data as Partial<WorkspaceMemberChanged>;
  if (userId === '' || userId === addedByUserId) return [];
  const orgId = orgOf(event, workspaceId);
  return joining(event, { type: 'workspace', id: workspaceId }, { userId, addedByUserId, role, orgId, workspaceId });
}

/**
 * Returns the draft for a new member of an Org, as `workspaceMemberAdded` does for a workspace. An invitation names no
 * user and yields no draft.
 */
export function orgMemberAdded(event: DomainEvent): Draft[] {
  const { orgId = '', userId = '', role, addedByUserId = '' } = event.data as Partial<OrgMemberChanged>;
  if (userId === '' || userId === addedByUserId) return [];
  return joining(event, { type: 'org', id: orgId }, { userId, addedByUserId, role, orgId });
}

/** Returns a draft if the update is an accepted invitation to an Org, otherwise none. */
export function orgMemberUpdated(event: DomainEvent): Draft[] {
  return event.data.joined === true ? orgMemberAdded(event) : [];
}

interface Joined {
  readonly userId: string;
  readonly addedByUserId: string;
  readonly role: string | undefined;
  readonly orgId: string | undefined;
  readonly workspaceId?: string;
}

function joining(event: DomainEvent, target: Draft['target'], about: Joined): Draft[] {
  const { userId, addedByUserId, role, ...where } = about;
  const joined = personBehind(event) === userId;
  const to = joined ? addedByUserId : userId;
  if (to === '') return [];
  const groupKey = joined ? `joined:${target.type}:${target.id}` : `added:${target.type}:${target.id}`;
  return [{ type: 'member_added', to: [to], groupKey, target, ...where, facts: { joined, ...(role && { role }) } }];
}
