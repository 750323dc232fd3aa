import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import { findPage, type Where } from '@commonplace/kit/store';
import {
  type AuditEvent,
  type AuditEventService,
  AuditOutcome,
  type ListAuditEventsRequest,
} from '@commonplace/proto/messaging/v1/audit_event_service.js';
import { actorType } from '../domain/actors.js';
import { type DenialParts, denialRecord } from './denials.js';
import { auditReach } from './policy.js';
import type { AuditRecord, Outcome } from './records.js';
import { type AuditWriteParts, recordAll } from './write.js';

const NEWEST_FIRST = ['-at'] as const;
const ACTION = /^[a-z_]+(\.([a-z_]+)?)?$/;

export function createAuditHandlers(parts: AuditWriteParts & DenialParts): Handlers<AuditEventService> {
  return {
    async listAuditEvents(request, context) {
      const filter = filterOf(request);
      const reach = await auditReach(parts.memberships, context, request.orgId);
      const where: Where<AuditRecord> = { and: [reach, ...filter] };
      const { items, page } = await findPage(parts.auditEvents, where, NEWEST_FIRST, request.page);
      return { items: items.map(toMessage), page };
    },

    async recordDenials({ denials }, context) {
      context.acts();
      await recordAll(parts, await Promise.all(denials.map((denial) => denialRecord(parts, denial, context))));
      return {};
    },
  };
}

const OUTCOMES: Record<Outcome, AuditOutcome> = {
  success: AuditOutcome.SUCCESS,
  denied: AuditOutcome.DENIED,
  failure: AuditOutcome.FAILURE,
};

function filterOf({ action, actorId, targetId, from, to, outcome }: ListAuditEventsRequest): Where<AuditRecord>[] {
  if (action !== undefined && !ACTION.test(action)) {
    throw invalidField('action', 'invalid_value', 'must be `<noun>.<verb>`; `<noun>.` selects all of a noun.');
  }
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    throw invalidField('to', 'invalid_value', 'must be later than from.');
  }
  const wanted = (Object.keys(OUTCOMES) as Outcome[]).find((name) => OUTCOMES[name] === outcome);
  return [
    ...(action === undefined ? [] : [{ action: action.endsWith('.') ? { prefix: action } : action }]),
    ...(actorId === undefined ? [] : [{ or: [{ actorId }, { personId: actorId }] }]),
    ...(targetId === undefined ? [] : [{ targetId }]),
    ...(from === undefined ? [] : [{ at: { gte: new Date(from).toISOString() } }]),
    ...(to === undefined ? [] : [{ at: { lt: new Date(to).toISOString() } }]),
    ...(wanted === undefined ? [] : [{ outcome: wanted }]),
  ];
}

function toMessage(record: AuditRecord): AuditEvent {
  const { id, at, action, outcome, actor, personId, credential, orgId, workspaceId, target } = record;
  const { network, requestId, reason, details, count } = record;
  return {
    id,
    time: at,
    action,
    outcome: OUTCOMES[outcome],
    actor: { ...actor, type: actorType(actor.type) },
    personId,
    credential: credential && { ...credential },
    orgId,
    workspaceId,
    target: target && { ...target },
    clientNetwork: network,
    requestId,
    reason,
    details: Buffer.from(JSON.stringify(details)),
    count,
  };
}
