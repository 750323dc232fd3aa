import { type AppError, rateLimitError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { rateLimited } from '@commonplace/kit/telemetry';
import type { Middleware, ParameterizedContext } from 'koa';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import { CONCURRENCY_POLICIES, type Policies, type PolicyName, WINDOW_SECONDS } from '../rate-limits.js';
import type { Route } from '../routes.js';
import { type Claim, createInProgress } from './in-progress.js';
import { type CreateLimiter, createLocalLimiter, type Limiter } from './limiters.js';
import type { State } from './state.js';

export interface FailureLimit {
  /** Counts a failed authentication, and sets the headers of its policy. Throws 429 if there were too many from the network. */
  count(ctx: CountedFailure): Promise<void>;
}

type CountedFailure = Pick<ParameterizedContext<State>, 'state' | 'set'>;

/**
 * Creates the limit of failed authentications. A valid credential is never refused because of it, since only failures
 * count.
 */
export function createFailureLimit(policies: Policies, create: CreateLimiter = createLocalLimiter): FailureLimit {
  const limiter = limiterOf('auth', policies, create);
  return {
    async count(ctx) {
      if (limiter === undefined) return;
      const limit = policies.auth as number;
      const { left, refusal } = await consume(
        limiter,
        'auth',
        ctx.state.clientNetwork,
        limit,
        'failed authentications',
      );
      ctx.set('RateLimit-Policy', policyHeaderOf('auth', limit));
      ctx.set('RateLimit', limitHeaderOf('auth', left));
      if (refusal !== undefined) throw refusal;
    },
  };
}

/**
 * Returns, for each policy, the key under which a request is counted; undefined if the policy does not apply to the
 * request. Policies without a function here count by credential.
 */
const COUNTED_BY: Partial<Record<PolicyName, (ctx: Counted) => string | undefined>> = {
  form: (ctx) => (isAnonymous(ctx) ? lastParam(ctx) : undefined),
  visitor: (ctx) => (isAnonymous(ctx) ? ctx.state.clientNetwork : undefined),
  hook: lastParam,
};

type Counted = ParameterizedContext<State> & { readonly params?: Readonly<Record<string, string>> };

/**
 * Returns whether a request comes without an account: from a page, or with the submission credential that a page
 * issued.
 */
const isAnonymous = ({ state }: Counted): boolean =>
  state.admitted === undefined || state.admitted.caller.credential.type === 'submission';

/** Returns a hash of the last path parameter, so that no token stays in memory longer than its request. */
function lastParam({ params = {} }: Counted): string {
  return fingerprint(Object.values(params).at(-1) ?? '');
}

/** Returns the key under which to count a request. Without a credential it is the client's network. */
function counterOf(name: PolicyName, ctx: Counted): string | undefined {
  const by = COUNTED_BY[name];
  return by === undefined ? (ctx.state.admitted?.credentialId ?? ctx.state.clientNetwork) : by(ctx);
}

/** Creates the rate-limit gate of a route, which counts each credential by `default` and the route's own policies. */
export type RateGate = (route: Pick<Route, 'limits' | 'scope'>) => Middleware<State>;

/** Creates the rate-limit gates. Limits on concurrent requests apply to each process separately. */
export function createRateGate(policies: Policies, create: CreateLimiter = createLocalLimiter): RateGate {
  const limiters = new Map<string, Limiter>();
  for (const name of Object.keys(policies) as PolicyName[]) {
    const limiter = limiterOf(name, policies, create);
    if (limiter !== undefined) limiters.set(name, limiter);
  }
  const inProgress = createInProgress();

  return (route) => {
    const asked = route.scope === 'public' ? route.limits : [...new Set(['default', ...route.limits])];
    const names = asked.filter((name) => limiters.has(name)) as PolicyName[];
    const policyHeader = names.map((name) => policyHeaderOf(name, policies[name])).join(', ');
    if (names.length === 0 && policies.concurrent === undefined) return (_, next) => next();
    return async (ctx, next) => {
      const credentialId = ctx.state.admitted?.credentialId ?? ctx.state.clientNetwork;
      const used: string[] = [];
      const count = async (counted: readonly string[]) => {
        for (const name of counted as readonly PolicyName[]) {
          const limiter = limiters.get(name);
          const counter = limiter && counterOf(name, ctx);
          if (limiter === undefined || counter === undefined) continue;
          const { left, refusal } = await consume(limiter, name, counter, policies[name] as number);
          used.push(limitHeaderOf(name, left));
          ctx.set('RateLimit', used.join(', '));
          if (refusal !== undefined) throw refusal;
        }
      };
      if (names.length > 0) ctx.set('RateLimit-Policy', policyHeader);
      await count(names);
      ctx.state.countBy = count;
      // The calls of a batch run one after another, so that the batch itself counts for them.
      if (ctx.state.batched !== undefined) return next();
      const leave = inProgress.enter([claimOf(credentialId, policies.concurrent)]);
      try {
        await next();
      } finally {
        // Event streams have limits of their own.
        if (ctx.res.destroyed || ctx.state.streamsEvents) leave();
        else ctx.res.once('close', leave);
      }
    };
  };
}

/** A request counts until its client has received the answer, which may take long if the client reads slowly. */
function claimOf(credentialId: string, limit: number | undefined): Claim {
  return { policy: 'concurrent', key: credentialId, limit, amount: 1, message: tooManyRequests, retryAfter: 1 };
}

const tooManyRequests = (limit: number): string => `More than ${limit} requests at the same time.`;

function limiterOf(name: PolicyName, policies: Policies, create: CreateLimiter): Limiter | undefined {
  const points = policies[name];
  if (points === undefined || CONCURRENCY_POLICIES.has(name)) return undefined;
  return create(name, points);
}

/** Returns the part of `RateLimit-Policy` and, below, of `RateLimit` that describes a policy and its current window. */
function policyHeaderOf(name: string, limit: number | undefined): string {
  return `"${name}";q=${limit};w=${WINDOW_SECONDS}`;
}

function limitHeaderOf(name: string, { remainingPoints, msBeforeNext }: RateLimiterRes): string {
  return `"${name}";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`;
}

/** Consumes one request of a window. Returns the state of the window, and the error if nothing was left. */
async function consume(
  limiter: Limiter,
  policy: string,
  key: string,
  limit: number,
  what = 'requests',
): Promise<{ left: RateLimiterRes; refusal?: AppError }> {
  try {
    return { left: await limiter.consume(key) };
  } catch (left) {
    if (!(left instanceof RateLimiterRes)) throw left;
    const wait = Math.min(Math.max(Math.ceil(left.msBeforeNext / 1000), 1), WINDOW_SECONDS);
    const message = `More than ${limit} ${what} in ${WINDOW_SECONDS} s.`;
    rateLimited.bind({ policy }).add();
    const rate = { policy, limit, windowSeconds: WINDOW_SECONDS, retryAfter: wait, reason: 'quota' };
    return { left, refusal: rateLimitError(rate, message) };
  }
}
