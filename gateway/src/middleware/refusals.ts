import { createAggregator } from '@commonplace/kit/aggregate';
import type { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import { networkOf } from '@commonplace/kit/network';
import type { ParameterizedContext } from 'koa';
import { templateOf } from './observe.js';
import type { State } from './state.js';

/** Milliseconds within which refusals of one kind are merged into one line. */
const WINDOW_MS = 60_000;
/** Kinds of refusals that are counted at the same time; those of further networks are counted together. */
const MAX_KINDS = 1_000;

/**
 * Reasons that a person who uses the product as it is meant hardly meets, but somebody who tries to pass its controls:
 * limits on automation, forged requests, addresses inside the network, and input made to be expensive or ambiguous.
 */
const NOTED: ReadonlySet<string> = new Set([
  ...['rate_limited', 'concurrency_limited', 'csrf_failed', 'multiple_credentials'],
  ...['url_not_allowed', 'body_too_complex', 'document_too_complex'],
]);

/** Returns which of these reasons an error has; undefined if none. */
function notedReason({ reason, faults }: AppError): string | undefined {
  return [reason, ...faults.map(({ code }) => code)].find((one) => NOTED.has(one));
}

/** Logs requests that a control has refused, for the operator. */
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
      const reason = notedReason(error);
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
