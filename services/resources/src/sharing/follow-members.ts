import type { Actor } from '@commonplace/kit/auth';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { grantId } from '../domain/grant.js';
import { combineTerms } from './grants.js';
import { leaveOrg, removeGrantsOf, rewriteGrants } from './member-grants.js';
import type { SharingParts } from './parts.js';

/**
 * Follows members and agents. People who leave a workspace or an Org, and agents that are deleted, lose their grants
 * there; people who accept an invitation get the grants made to it. Grants made after an event are not affected, so events
 * may arrive late and twice.
 */
export function followMembers(parts: SharingParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'resources-members', events: FOLLOWED }, (event) => follow(parts, event));
}

/** Removes what was shared with groups that are deleted. Whoever was in one has lost it already. */
export function followGroups(parts: SharingParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'resources.deleted-groups', events: ['tenancy.group.deleted'] } as const;
  return consume(bus, spec, async ({ data, actor }) => {
    await removeGrantsOf(parts, { principal: `group:${data.groupId}` }, (actor ?? TENANCY) as Actor);
  });
}

const FOLLOWED = [
  'agents.agent.deleted',
  'tenancy.org_member.removed',
  'tenancy.workspace_member.added',
  'tenancy.workspace_member.removed',
  'tenancy.workspace_member.updated',
] as const;

async function follow(parts: SharingParts, event: TypedEvent<(typeof FOLLOWED)[number]>): Promise<void> {
  const actor = (event.actor ?? TENANCY) as Actor;
  const before = { createdAt: { lte: event.time } };
  if (event.name === 'agents.agent.deleted') {
    await removeGrantsOf(parts, { principal: `agent:${event.subject}` }, actor);
    return;
  }
  if (event.name === 'tenancy.org_member.removed') {
    const { orgId, userId, transferToUserId } = event.data;
    if (userId !== '') await leaveOrg(parts, { orgId, userId, successor: transferToUserId }, actor, before);
    return;
  }
  const { workspaceId, userId, memberId, keepGrants } = event.data;
  const invitee = { principal: `invitee:${memberId}`, workspaceId };
  if (event.name === 'tenancy.workspace_member.removed') {
    await removeGrantsOf(parts, invitee, actor);
    if (userId === '' || keepGrants) return;
    await removeGrantsOf(parts, { principal: `user:${userId}`, workspaceId, ...before }, actor);
  } else if (userId !== '') {
    await accept(parts, invitee, `user:${userId}`, actor);
  }
}

const TENANCY: Actor = { type: 'system', id: 'tenancy', name: 'tenancy' };

/** Transfers the grants made to an invitation to the person who has accepted it. */
async function accept(
  parts: SharingParts,
  invitee: { readonly principal: string; readonly workspaceId: string },
  principal: string,
  actor: Actor,
): Promise<void> {
  const offered = await parts.grants.find({ where: invitee, limit: 1 });
  if (offered.length === 0) return;
  const ids = (await parts.grants.find({ where: invitee, limit: 10_000 })).map(({ resourceId }) =>
    grantId(resourceId, principal),
  );
  const held = new Map((await parts.grants.getMany(ids)).map((grant) => [grant.resourceId, grant]));
  const now = new Date().toISOString();
  await rewriteGrants(parts, invitee, actor, ({ resourceId, role, expiresAt }) => ({
    principal,
    ...combineTerms(held.get(resourceId), { role, expiresAt }, now),
  }));
}
