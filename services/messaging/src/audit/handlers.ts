import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import { findPage, type Where } from '@commonplace/kit/store';
import { valuesByName } from '@commonplace/platform/enums';
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
import { ACTIONS, outcomeOf } from './sources.js';
import { type AuditWriteParts, recordAll } from './write.js';

const NEWEST_FIRST = ['-at'] as const;
const ACTION = /^[a-z_]+(\.([a-z_]+)?)?$/;

export function createAuditHandlers(parts: AuditWriteParts & DenialParts): Handlers<AuditEventService> {
  return {
    async listAuditEvents(request, context) {
      const filter = filterOf(request);
      const reach = await auditReach(parts.memberships, context, request.orgId);
      const byActor = request.actorId === undefined ? {} : await actorFilter(parts, reach, request.actorId);
      const where: Where<AuditRecord> = { and: [reach, byActor, ...filter] };
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

const OUTCOMES: Record<Outcome, AuditOutcome> = valuesByName(AuditOutcome);

function filterOf({ action, targetId, from, to, outcome }: ListAuditEventsRequest): Where<AuditRecord>[] {
  if (action !== undefined && !ACTION.test(action)) {
    throw invalidField('action', 'invalid_value', 'must be `<noun>.<verb>`; `<noun>.` selects all of a noun.');
  }
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    throw invalidField('to', 'invalid_value', 'must be later than from.');
  }
  const wanted = (Object.keys(OUTCOMES) as Outcome[]).find((name) => OUTCOMES[name] === outcome);
  return [
    ...(targetId === undefined ? [] : [{ targetId }]),
    ...(from === undefined ? [] : [{ at: { gte: new Date(from).toISOString() } }]),
    ...(to === undefined ? [] : [{ at: { lt: new Date(to).toISOString() } }]),
    ...(action === undefined ? outcomeFilter(wanted) : [{ action: oneOf(actionsOf(action, wanted)) }]),
  ];
}

function outcomeFilter(outcome: Outcome | undefined): Where<AuditRecord>[] {
  return outcome === undefined ? [] : [{ outcome }];
}

const oneOf = (actions: string[]): string | { in: string[] } =>
  actions.length === 1 ? String(actions[0]) : { in: actions };

/**
 * Returns the action that is asked for, or all actions of its noun, as far as they have an outcome: an index has the
 * entries of each in the order of time.
 */
function actionsOf(asked: string, outcome: Outcome | undefined): string[] {
  const actions = asked.endsWith('.') ? ACTIONS.filter((one) => one.startsWith(asked)) : [asked];
  return actions.filter((one) => outcome === undefined || outcomeOf(one) === outcome);
}

/**
 * Returns the filter for what an actor did, or a person's keys and agents. No other actor has the id of a person, and what
 * people do themselves names them as persons too, so that one of two indexes has all of it.
 */
async function actorFilter(
  { auditEvents }: Pick<AuditWriteParts, 'auditEvents'>,
  reach: Where<AuditRecord>,
  id: string,
): Promise<Where<AuditRecord>> {
  const isPerson = (await auditEvents.count({ and: [reach, { personId: id }] }, 1)) > 0;
  return isPerson ? { personId: id } : { actorId: id };
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
