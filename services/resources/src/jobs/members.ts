import type { Actor } from '@commonplace/kit/auth';
import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import type { OrgMemberChanged, WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { greaterRole } from '../acts/grants.js';
import { removeGrantsOf, rewriteGrants } from '../acts/member-grants.js';
import type { Parts } from '../parts.js';
import { grantId } from '../stores/grants.js';

/**
 * Follows who comes to workspaces and Orgs and who leaves: those who leave lose what they were granted inside,
 * those who accept an invitation get what was granted to it. What was granted after an event is none of its
 * business, so that events may come late and twice.
 */
export function followMembers(parts: Parts, bus: EventBus): Promise<Subscription> {
  const types = ['commonplace.tenancy.workspace_member.>', 'commonplace.tenancy.org_member.removed'];
  return bus.subscribe({ consumer: 'resources-members', types }, async (events) => {
    for (const event of events) await follow(parts, event);
  });
}

async function follow(parts: Parts, event: DomainEvent): Promise<void> {
  const actor = (event.actor ?? TENANCY) as Actor;
  const before = { createdAt: { lte: event.time } };
  const verb = event.type.slice('commonplace.tenancy.'.length);
  if (verb === 'org_member.removed') {
    const { orgId, userId, transferToUserId } = event.data as unknown as OrgMemberChanged;
    if (userId !== '') await leaveOrg(parts, { orgId, userId, heir: transferToUserId }, before, actor);
    return;
  }
  const { workspaceId, userId, memberId, keepGrants } = event.data as unknown as WorkspaceMemberChanged;
  const invitee = { principal: `invitee:${memberId}`, workspaceId };
  if (verb === 'workspace_member.removed') {
    await removeGrantsOf(parts, invitee, actor);
    if (userId === '' || keepGrants) return;
    await removeGrantsOf(parts, { principal: `user:${userId}`, workspaceId, ...before }, actor);
  } else if (userId !== '') {
    await accept(parts, invitee, `user:${userId}`, actor);
  }
}

const TENANCY: Actor = { type: 'system', id: 'tenancy', name: 'tenancy' };

/** Whoever has taken up an invited place gets what was granted to it. */
async function accept(
  parts: Parts,
  invitee: { readonly principal: string; readonly workspaceId: string },
  principal: string,
  actor: Actor,
): Promise<void> {
  const offered = await parts.grants.find({ where: invitee, limit: 1 });
  if (offered.length === 0) return;
  const ids = (await parts.grants.find({ where: invitee, limit: 10_000 })).map(({ resourceId }) =>
    grantId(resourceId, principal),
  );
  const held = new Map((await parts.grants.getMany(ids)).map(({ resourceId, role }) => [resourceId, role]));
  await rewriteGrants(parts, invitee, actor, ({ resourceId, role, expiresAt }) => ({
    principal,
    role: greaterRole(role, held.get(resourceId) ?? role),
    expiresAt,
  }));
}

/** What a person owned of an Org goes to whoever takes their place; the rest ends. */
async function leaveOrg(
  parts: Parts,
  { orgId, userId, heir }: { readonly orgId: string; readonly userId: string; readonly heir: string },
  before: { readonly createdAt: { readonly lte: string } },
  actor: Actor,
): Promise<void> {
  const where = { principal: `user:${userId}`, tenant: orgId, ...before };
  await rewriteGrants(parts, where, actor, ({ role, expiresAt }) =>
    role === 'owner' && heir !== '' && expiresAt === undefined ? { principal: `user:${heir}`, role } : undefined,
  );
}
