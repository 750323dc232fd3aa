import type { Actor } from '@commonplace/kit/auth';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import type { Where } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { type Grant, grantId } from '../domain/grant.js';
import { splitPrincipal } from '../domain/principals.js';
import { combineTerms } from './grants.js';
import { leaveOrg, removeGrantsOf, rewriteGrants } from './member-grants.js';
import type { SharingParts } from './parts.js';

/**
 * Follows members and agents. People who leave a workspace or an Org, and agents that are deleted, lose their grants
 * there; people who accept an invitation get the grants made to it. Grants to people who have returned are not affected,
 * so events may arrive late and twice.
 */
export function followMembers(parts: SharingParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'resources-members', events: FOLLOWED }, (event) => follow(parts, event));
}

/**
 * Follows grants to people who left the Org or the workspace, and to agents and groups that were deleted, at the same
 * moment: what removes their grants may have looked before the grant was there. They lose it like their other grants.
 * Of people who stay in the Org that are the grants to themselves, as of the author of a restricted item; what others
 * give them after they have left the workspace they keep.
 */
export function followLateGrants(parts: SharingParts, bus: EventBus): Promise<Subscription> {
  const events = ['resources.permission.granted', 'resources.permission.changed'] as const;
  return consume(bus, { consumer: 'resources.late-grants', events }, async ({ data, tenant }) => {
    const { principal, resourceId, workspaceId } = data;
    const { kind, id: userId } = splitPrincipal(principal);
    const mayBeDeleted = kind === 'agent' || kind === 'group';
    if (mayBeDeleted && (await parts.departures.isDeleted(userId))) {
      await removeGrantsOf(parts, { principal }, TENANCY);
    }
    if (kind !== 'user' || tenant === undefined) return;
    const departure = (await parts.departures.from(tenant, [userId])).get(userId);
    if (departure !== undefined && !(await belongs(parts, userId, tenant))) {
      await leaveOrg(parts, { orgId: tenant, userId, successor: departure.successorId }, TENANCY, { resourceId });
    } else if ((await parts.departures.from(workspaceId, [userId])).has(userId)) {
      const grant = await parts.grants.get(grantId(resourceId, principal));
      if (grant !== undefined) await endOwnGrants(parts, userId, workspaceId, [grant], TENANCY);
    }
  });
}

/** Removes those of a person's grants that they gave to themselves, unless they belong to the workspace now. */
async function endOwnGrants(
  parts: SharingParts,
  userId: string,
  workspaceId: string,
  grants: readonly Grant[],
  actor: Actor,
): Promise<void> {
  const own = grants.filter(({ grantedBy }) => grantedBy.id === userId);
  if (own.length === 0 || (await belongs(parts, userId, workspaceId))) return;
  for (const { id } of own) await removeGrantsOf(parts, { id }, actor);
}

/** Returns whether a person belongs to an Org or a workspace now. */
async function belongs({ peers, systemCall }: SharingParts, userId: string, placeId: string): Promise<boolean> {
  const { orgs, workspaces } = await peers.directory.getMemberships({ userId }, systemCall());
  return orgs.some(({ orgId }) => orgId === placeId) || workspaces.some(({ workspaceId }) => workspaceId === placeId);
}

/** Removes what was shared with groups that are deleted. Whoever was in one has lost it already. */
export function followGroups(parts: SharingParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'resources.deleted-groups', events: ['tenancy.group.deleted'] } as const;
  return consume(bus, spec, async ({ data, actor, tenant }) => {
    await parts.departures.storeDeleted(data.groupId, tenant ?? '');
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
  if (event.name === 'agents.agent.deleted') {
    await parts.departures.storeDeleted(event.subject, event.tenant ?? '');
    await removeGrantsOf(parts, { principal: `agent:${event.subject}` }, actor);
    return;
  }
  if (event.name === 'tenancy.org_member.removed') {
    const { orgId, userId, transferToUserId } = event.data;
    if (userId === '') return;
    await parts.departures.store(event);
    const only = (await belongs(parts, userId, orgId)) ? grantedBefore(event) : {};
    await leaveOrg(parts, { orgId, userId, successor: transferToUserId }, actor, only);
    return;
  }
  const { workspaceId, userId, memberId, keepGrants } = event.data;
  const invitee = { principal: `invitee:${memberId}`, workspaceId };
  if (event.name === 'tenancy.workspace_member.removed') {
    await removeGrantsOf(parts, invitee, actor);
    if (userId === '' || keepGrants) return;
    await leaveWorkspace(parts, event, actor);
  } else if (userId !== '') {
    await accept(parts, invitee, `user:${userId}`, actor);
  }
}

/** Removes the grants in a workspace of a person who has left it. */
async function leaveWorkspace(
  parts: SharingParts,
  event: TypedEvent<'tenancy.workspace_member.removed'>,
  actor: Actor,
): Promise<void> {
  const { userId, workspaceId } = event.data;
  const isPersonal = event.tenant === workspaceId;
  await parts.departures.store(event);
  const isGone = event.tenant !== undefined && !(await belongs(parts, userId, event.tenant));
  // Who has left the Org as well hands items over, which the event of the Org does.
  if (isGone && !isPersonal) return;
  const where = { principal: `user:${userId}`, workspaceId };
  await removeGrantsOf(parts, isGone ? where : { ...where, ...grantedBefore(event) }, actor);
  // Those that committed since then, but before the departure was stored.
  const later = await parts.grants.find({ where, limit: MAX_LATER_GRANTS });
  await endOwnGrants(parts, userId, workspaceId, later, actor);
}

/** Maximum number of grants that are checked of those made since a person has left. */
const MAX_LATER_GRANTS = 1_000;

/** Returns the condition that a grant was made before an event, so that it does not concern a person who has returned. */
function grantedBefore({ time }: Pick<TypedEvent<(typeof FOLLOWED)[number]>, 'time'>): Where<Grant> {
  return { createdAt: { lte: time } };
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
