import { createAggregator } from '@commonplace/kit/aggregate';
import { actorOf, type Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import { networkOf } from '@commonplace/kit/network';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import type { AuditEventService, Denial } from '@commonplace/proto/messaging/v1/audit_event_service.js';
import type { ParameterizedContext } from 'koa';
import { templateOf } from './observe.js';
import type { NamedIds, State } from './state.js';

/** Milliseconds within which equal denials are merged into one report. */
const WINDOW_MS = 60_000;
/**
 * Maximum numbers of kinds of denials that are counted separately at a time, altogether and of one person; further
 * denials of a credential are counted together. Ids in a path make as many kinds as a client likes.
 */
const MAX_KINDS = 10_000;
const MAX_KINDS_OF_PERSON = 50;

/** Reports requests that were answered with 403 to the audit log. */
export interface Denials {
  note(ctx: ParameterizedContext<State>, error: AppError): void;
  /** Reports the denials counted so far. */
  close(): Promise<void>;
}

interface DenialParts {
  readonly auditEvents: Pick<Client<AuditEventService>, 'recordDenials'>;
  call(): CallOptions;
  readonly log: Log;
}

/**
 * Creates the reporter of denials. Requests never wait for a report. A report that fails is logged, so that the
 * operator still learns of it.
 */
export function createDenials({ auditEvents, call, log }: DenialParts): Denials {
  const denials = createAggregator<Denial>({
    windowMs: WINDOW_MS,
    maxKeys: MAX_KINDS,
    share: { groupOf: ({ userId }) => userId, maxKeys: MAX_KINDS_OF_PERSON },
    overflow: (denial) => {
      const occurrence = { ...denial, route: ANY, method: ANY, resourceId: '', workspaceId: '', orgId: '' };
      return { key: `${ANY} ${denial.credential?.id}`, occurrence };
    },
    report: async ({ latest, count }) => {
      try {
        await auditEvents.recordDenials({ denials: [{ ...latest, count }] }, call());
      } catch (error) {
        const { userId, method, route, reason, requestId } = latest;
        log.warn('audit.not_recorded', { user_id: userId, method, route, reason, request_id: requestId, count, error });
      }
    },
  });
  return {
    note(ctx, error) {
      const { admitted, clientIp, requestId } = ctx.state;
      // Anonymous respondents of forms have no user id, and requests without a credential have no tenant. Neither is
      // reported.
      if (admitted === undefined || admitted.caller.userId === '') return;
      const { caller } = admitted;
      const named = { ...namedBy(ctx.params), ...ctx.state.named };
      const denial = denialOf(caller, named, {
        method: ctx.method,
        route: templateOf(ctx._matchedRoute) ?? ANY,
        reason: error.reason,
        clientNetwork: networkOf(clientIp) ?? '',
        requestId,
      });
      const { method, route, reason, clientNetwork, orgId, workspaceId, resourceId } = denial;
      const kind = [caller.credential.id, method, route, reason, clientNetwork, orgId, workspaceId, resourceId];
      denials.note(kind.join(' '), denial);
    },
    close: denials.close,
  };
}

const ANY = '*';

type Facts = Pick<Denial, 'method' | 'route' | 'reason' | 'clientNetwork' | 'requestId'>;

function denialOf(caller: Caller, { orgId = '', workspaceId = '', resourceId = '' }: NamedIds, facts: Facts): Denial {
  return {
    userId: caller.userId,
    actor: actorMessage(actorOf(caller)),
    credential: { type: caller.credential.type, id: caller.credential.id },
    tenant: caller.tenant === undefined ? undefined : { orgId: caller.tenant.orgId ?? '' },
    orgId,
    workspaceId: workspaceId || (caller.workspaceId ?? ''),
    resourceId,
    ...facts,
    time: new Date().toISOString(),
    count: 1,
  };
}

/** Returns the ids in a path, for requests whose body was not read. */
function namedBy(params: Readonly<Record<string, string>> | undefined): NamedIds {
  const { org_id: orgId, workspace_id: workspaceId, resource_id: resourceId } = params ?? {};
  return namedIds({ orgId, workspaceId, resourceId });
}

/** Returns the values that are ids of an Org, a workspace or a resource; drops all others. */
export function namedIds(values: object): NamedIds {
  const found = Object.entries(values).filter(([name, value]) => NAMES.has(name) && UUID.test(String(value)));
  return Object.fromEntries(found);
}

const NAMES: ReadonlySet<string> = new Set(['orgId', 'workspaceId', 'resourceId']);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
