import { derivedId, homeOf } from '@commonplace/kit/id';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { Denial } from '@commonplace/proto/messaging/v1/audit_event_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { actorName } from '../domain/actors.js';
import type { NewAuditRecord } from './write.js';

export interface DenialParts {
  readonly memberships: MembershipCache;
  readonly index: Client<IndexService>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

/** Turns a denial into an audit record of the tenant that the request was about. */
export async function denialRecord(parts: DenialParts, denial: Denial, context: CallContext): Promise<NewAuditRecord> {
  const place = await placeOf(parts, denial, context);
  const { actor, userId, credential, method, route, reason, clientNetwork, requestId, resourceId, count } = denial;
  const target = resourceId === '' ? { type: 'route', id: route } : { type: 'resource', id: resourceId };
  return {
    id: derivedId(`audit:denial:${requestId}:${count}`),
    tenant: place.tenant,
    at: denial.time ?? new Date(parts.now()).toISOString(),
    action: 'access.denied',
    outcome: 'denied',
    actor: { type: actorName(actor?.type), id: actor?.id ?? '', name: actor?.name ?? '' },
    actorId: actor?.id ?? '',
    personId: userId,
    ...(credential === undefined ? {} : { credential: { type: credential.type, id: credential.id } }),
    ...(place.orgId === undefined ? {} : { orgId: place.orgId }),
    ...(place.workspaceId === undefined ? {} : { workspaceId: place.workspaceId }),
    target,
    targetId: target.id,
    ...(clientNetwork === '' ? {} : { network: clientNetwork }),
    requestId,
    reason,
    details: { method, route },
    count,
  };
}

interface Place {
  readonly tenant: string;
  readonly orgId?: string;
  readonly workspaceId?: string;
}

/**
 * Returns the place of a denied request. It is the workspace or Org that the request names, if the person belongs to
 * it; otherwise the tenant of the credential, otherwise the person's Personal tenant. An Org therefore never sees
 * requests that were made to another tenant.
 */
async function placeOf(parts: DenialParts, denial: Denial, context: CallContext): Promise<Place> {
  const { orgs, workspaces } = await parts.memberships.of(denial.userId, context.onward);
  const home = homeOf(denial.userId);
  const bound = denial.tenant?.orgId || undefined;
  const workspaceId = denial.workspaceId || (await workspaceOf(parts, denial.resourceId, context));
  const workspace = workspaces.get(workspaceId);
  if (workspace !== undefined) {
    const orgId = workspace.orgId || undefined;
    return { tenant: orgId ?? workspaceId, workspaceId, ...(orgId === undefined ? {} : { orgId }) };
  }
  if (orgs.has(denial.orgId)) return { tenant: denial.orgId, orgId: denial.orgId };
  return bound === undefined ? { tenant: home } : { tenant: bound, orgId: bound };
}

async function workspaceOf({ index }: DenialParts, resourceId: string, context: CallContext): Promise<string> {
  if (resourceId === '') return '';
  const { entries } = await index.getIndexStates({ ids: [resourceId] }, context.onward);
  return entries[0]?.workspaceId ?? '';
}
