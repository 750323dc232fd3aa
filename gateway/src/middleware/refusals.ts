import { createAggregator } from '@commonplace/kit/aggregate';
import type { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import { networkOf } from '@commonplace/kit/network';
import type { ParameterizedContext } from 'koa';
import { templateOf } from './observe.js';
import type { State } from './state.js';

/** Milliseconds within which equal refusals are merged into one log line. */
const WINDOW_MS = 60_000;
/**
 * Maximum number of kinds of refusals that are counted separately at a time; those of further networks are counted
 * together.
 */
const MAX_KINDS = 1_000;

/**
 * Error reasons that suggest an attack, because normal use hardly causes them: limits on automation, forged requests,
 * addresses inside the network, and input made to be expensive or ambiguous.
 */
const SUSPICIOUS_REASONS: ReadonlySet<string> = new Set([
  ...['rate_limited', 'concurrency_limited', 'csrf_failed', 'multiple_credentials'],
  ...['url_not_allowed', 'body_too_complex', 'document_too_complex'],
]);

/** Returns the first of these reasons that an error has; undefined if it has none. */
function suspiciousReason({ reason, faults }: AppError): string | undefined {
  return [reason, ...faults.map(({ code }) => code)].find((one) => SUSPICIOUS_REASONS.has(one));
}

/** Logs refused requests that suggest an attack, for the operator. */
export interface Refusals {
  note(ctx: ParameterizedContext<State>, error: AppError): void;
  /** Logs the refusals counted so far. */
  close(): Promise<void>;
}

interface Refusal {
  readonly reason: string;
  readonly network: string;
  readonly user_id?: string;
  readonly method: string;
  readonly route: string;
  readonly request_id: string;
}

export function createRefusals(log: Log): Refusals {
  const refusals = createAggregator<Refusal>({
    windowMs: WINDOW_MS,
    maxKeys: MAX_KINDS,
    overflow: ({ reason, request_id }) => {
      const occurrence = { reason, network: ANY, method: ANY, route: ANY, request_id };
      return { key: `${ANY} ${reason}`, occurrence };
    },
    report: async ({ latest, count }) => log.warn('request.refused', { ...latest, count }),
  });
  return {
    note(ctx, error) {
      const reason = suspiciousReason(error);
      if (reason === undefined) return;
      const { admitted, clientIp, requestId } = ctx.state;
      const userId = admitted?.caller.userId ?? '';
      const network = networkOf(clientIp) ?? '';
      const route = templateOf(ctx._matchedRoute) ?? ANY;
      refusals.note([reason, network, userId, ctx.method, route].join(' '), {
        reason,
        network,
        ...(userId === '' ? {} : { user_id: userId }),
        method: ctx.method,
        route,
        request_id: requestId,
      });
    },
    close: refusals.close,
  };
}

const ANY = '*';
