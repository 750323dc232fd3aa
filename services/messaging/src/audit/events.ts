import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import { derivedId, homeOf } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { AUDITED, type AuditDraft } from './sources.js';
import { type AuditWriteParts, type NewAuditRecord, recordAll } from './write.js';

/** Dependencies for finding the tenants whose audit logs record an event. */
interface TenantParts {
  readonly memberships: MembershipCache;
  /** Returns the options of a call that the system makes itself. */
  systemCall(): CallOptions;
}

/** Maximum number of events that one commit records. */
const BATCH = 50;

/** Subscribes to the events that the audit log records. */
export function watchAudited(parts: AuditWriteParts & TenantParts, bus: EventBus): Promise<Subscription> {
  const options = { consumer: 'messaging.audit', types: Object.keys(AUDITED), batch: BATCH };
  return bus.subscribe(options, async (events) => {
    const records = await Promise.all(events.map((event) => recordsOf(parts, event)));
    await recordAll(parts, records.flat());
  });
}

/** Returns the audit records of an event, one for each tenant whose log records it. */
export async function recordsOf(parts: TenantParts, event: DomainEvent): Promise<NewAuditRecord[]> {
  const draft = AUDITED[event.type]?.(event);
  if (draft === undefined) return [];
  const tenants = await tenantsOf(parts, event, draft);
  return tenants.map(({ tenant, orgId }) => recordOf(event, draft, tenant, orgId));
}

interface Tenant {
  readonly tenant: string;
  readonly orgId: string | undefined;
}

/**
 * Returns the tenants that record an event. An event about a person is recorded in their Personal tenant and in all
 * of their Orgs.
 */
async function tenantsOf(
  parts: TenantParts,
  { tenant, source, data }: DomainEvent,
  draft: AuditDraft,
): Promise<Tenant[]> {
  if (draft.person !== undefined) {
    const { orgs } = await parts.memberships.of(draft.person.id, parts.systemCall());
    const ofOrgs = [...orgs.keys()].map((orgId) => ({ tenant: orgId, orgId }));
    return [{ tenant: homeOf(draft.person.id), orgId: undefined }, ...ofOrgs];
  }
  if (tenant === undefined) return [];
  // A Personal workspace is its own tenant; a Personal key belongs to the tenant of its person's home.
  const isPersonal = source === '/identity' ? data.orgId === undefined : tenant === draft.workspaceId;
  return [{ tenant, orgId: isPersonal ? undefined : tenant }];
}

/** Returns whether the operator caused the event, on behalf of a person who can no longer sign in. */
function isOperator(actor: DomainEvent['actor']): boolean {
  return actor?.type === 'system' && actor.id === 'operator';
}

function recordOf(event: DomainEvent, draft: AuditDraft, tenant: string, orgId: string | undefined): NewAuditRecord {
  const { id: eventId, time: at, actor, credential, network, requestid: requestId } = event;
  const { person, action, outcome, target, workspaceId, reason, details, count, onceFor } = draft;
  const doer =
    person === undefined || isOperator(actor)
      ? { type: actor?.type ?? 'system', id: actor?.id ?? '', name: actor?.name ?? '' }
      : { type: 'user', id: person.id, name: person.name };
  const personId = person?.id ?? (actor?.type === 'user' ? actor.id : actor?.person);
  return {
    id: derivedId(`audit:${onceFor === undefined ? eventId : `${action} ${onceFor}`}:${tenant}`),
    tenant,
    at,
    action,
    outcome,
    actor: doer,
    actorId: doer.id,
    ...(personId === undefined ? {} : { personId }),
    ...(credential === undefined ? {} : { credential }),
    ...(orgId === undefined ? {} : { orgId }),
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(target === undefined ? {} : { target, targetId: target.id }),
    ...(network === undefined ? {} : { network }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(reason === undefined ? {} : { reason }),
    details,
    count,
  };
}
