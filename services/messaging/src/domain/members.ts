import type { DomainEvent } from '@commonplace/kit/events';
import type { OrgMemberChanged, WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { type Draft, orgOf, personBehind } from './draft.js';

/** Somebody is in a workspace now: they are told who let them in, or who had invited them that they have come. */
export function workspaceMemberAdded(event: DomainEvent): Draft[] {
  const { workspaceId = '', userId = '', role, addedByUserId = '' } = event.data as Partial<WorkspaceMemberChanged>;
  if (userId === '' || userId === addedByUserId) return [];
  const orgId = orgOf(event, workspaceId);
  return joining(event, { type: 'workspace', id: workspaceId }, { userId, addedByUserId, role, orgId, workspaceId });
}

/** The same for an Org; an invitation that is only sent tells nobody here. */
export function orgMemberAdded(event: DomainEvent): Draft[] {
  const { orgId = '', userId = '', role, addedByUserId = '' } = event.data as Partial<OrgMemberChanged>;
  if (userId === '' || userId === addedByUserId) return [];
  return joining(event, { type: 'org', id: orgId }, { userId, addedByUserId, role, orgId });
}

/** Of all that changes about a place in an Org, its being taken up. */
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
