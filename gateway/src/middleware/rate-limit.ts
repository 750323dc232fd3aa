import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { rateLimited } from '@commonplace/kit/telemetry';
import type { Middleware, ParameterizedContext } from 'koa';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import type { Route } from '../routes.js';
import { type Policies, type PolicyName, WINDOW_SECONDS } from './policies.js';
import type { State } from './state.js';

export interface FailureLimit {
  /** Counts a failed authentication; throws 429 where an address has had too many. */
  count(clientIp: string): Promise<void>;
}

/** Only failures count, so a valid credential is never refused for them. */
export function createFailureLimit(policies: Policies): FailureLimit {
  const limiter = limiterOf('auth', policies);
  return {
    async count(clientIp) {
      if (limiter === undefined) return;
      const { refusal } = await consume(limiter, 'auth', clientIp, policies.auth as number);
      if (refusal !== undefined) throw refusal;
    },
  };
}

/**
 * Whose requests a policy counts together; undefined where it does not speak of this one. A policy that is not
 * here counts by credential.
 */
const COUNTED_BY: Partial<Record<PolicyName, (ctx: Counted) => string | undefined>> = {
  form: (ctx) => (isAnonymous(ctx) ? lastParam(ctx) : undefined),
  visitor: (ctx) => (isAnonymous(ctx) ? ctx.state.clientIp : undefined),
  hook: lastParam,
};

type Counted = ParameterizedContext<State> & { readonly params?: Readonly<Record<string, string>> };

/** Whoever comes without an account: by a page, or with the credential that a page has given them. */
const isAnonymous = ({ state }: Counted): boolean =>
  state.admitted === undefined || state.admitted.caller.credential.type === 'submission';

/** What a path names: of tokens a hash, so that none stays in memory longer than its request. */
function lastParam({ params = {} }: Counted): string {
  return fingerprint(Object.values(params).at(-1) ?? '');
}

/** Without a credential the address is counted. */
function counterOf(name: PolicyName, ctx: Counted): string | undefined {
  const by = COUNTED_BY[name];
  return by === undefined ? (ctx.state.admitted?.credentialId ?? ctx.state.clientIp) : by(ctx);
}

/** The gate of rate limits for a route: `default` and its own policies, for each credential. */
export type RateGate = (route: Pick<Route, 'limits' | 'scope'>) => Middleware<State>;

/** Counters are this process's own: a gateway of three replicas lets three times as much pass. */
export function createRateGate(policies: Policies): RateGate {
  const limiters = new Map<string, RateLimiterMemory>();
  for (const name of Object.keys(policies) as PolicyName[]) {
    const limiter = limiterOf(name, policies);
    if (limiter !== undefined) limiters.set(name, limiter);
  }
  const running = new Map<string, number>();

  return (route) => {
    const asked = route.scope === 'public' ? route.limits : ['default', ...route.limits];
    const names = asked.filter((name) => limiters.has(name)) as PolicyName[];
    const policyHeader = names.map((name) => `"${name}";q=${policies[name]};w=${WINDOW_SECONDS}`).join(', ');
    if (names.length === 0 && policies.concurrent === undefined) return (_, next) => next();
    return async (ctx, next) => {
      const credentialId = ctx.state.admitted?.credentialId ?? ctx.state.clientIp;
      const used: string[] = [];
      if (names.length > 0) ctx.set('RateLimit-Policy', policyHeader);
      for (const name of names) {
        const limiter = limiters.get(name) as RateLimiterMemory;
        const counter = counterOf(name, ctx);
        if (counter === undefined) continue;
        const { left, refusal } = await consume(limiter, name, counter, policies[name] as number);
        used.push(`"${name}";r=${left.remainingPoints};t=${Math.ceil(left.msBeforeNext / 1000)}`);
        ctx.set('RateLimit', used.join(', '));
        if (refusal !== undefined) throw refusal;
      }
      await bounded(running, credentialId, policies.concurrent, next);
    };
  };
}

/** Runs within the number of requests that one credential may have under way. */
async function bounded(
  running: Map<string, number>,
  credentialId: string,
  limit: number | undefined,
  next: () => Promise<unknown>,
): Promise<void> {
  if (limit === undefined) {
    await next();
    return;
  }
  const count = running.get(credentialId) ?? 0;
  if (count >= limit) {
    rateLimited.bind({ policy: 'concurrent' }).add();
    throw new AppError('RESOURCE_EXHAUSTED', 'concurrency_limited', `More than ${limit} requests at the same time.`, {
      details: { policy: 'concurrent', limit, window_seconds: 0, retry_after_seconds: 1, reason: 'concurrency' },
      retryAfter: 1,
    });
  }
  running.set(credentialId, count + 1);
  try {
    await next();
  } finally {
    const left = (running.get(credentialId) ?? 1) - 1;
    if (left <= 0) running.delete(credentialId);
    else running.set(credentialId, left);
  }
}

function limiterOf(name: PolicyName, policies: Policies): RateLimiterMemory | undefined {
  const points = policies[name];
  if (points === undefined || name === 'concurrent') return undefined;
  return new RateLimiterMemory({ points, duration: WINDOW_SECONDS, keyPrefix: name });
}

/** Takes one request of a window: what is left of it, and the refusal where nothing was. */
async function consume(
  limiter: RateLimiterMemory,
  policy: string,
  key: string,
  limit: number,
): Promise<{ left: RateLimiterRes; refusal?: AppError }> {
  try {
    return { left: await limiter.consume(key) };
  } catch (left) {
    if (!(left instanceof RateLimiterRes)) throw left;
    const wait = Math.min(Math.max(Math.ceil(left.msBeforeNext / 1000), 1), WINDOW_SECONDS);
    const message = `More than ${limit} requests in ${WINDOW_SECONDS} s.`;
    const details = { policy, limit, window_seconds: WINDOW_SECONDS, retry_after_seconds: wait, reason: 'quota' };
    rateLimited.bind({ policy }).add();
    return {
      left,
      refusal: new AppError('RESOURCE_EXHAUSTED', 'rate_limited', message, { details, retryAfter: wait }),
    };
  }
}
