import { AppError } from '@commonplace/kit/errors';
import { rateLimited } from '@commonplace/kit/telemetry';

/** Something that is in progress, and that counts against a limit. */
export interface Claim {
  /** Name of the limit in errors and metrics. */
  readonly policy: string;
  /** Whom it counts for: a credential, a tenant or a network. */
  readonly key: string;
  /** Undefined for no limit. */
  readonly limit: number | undefined;
  /** How much it counts. */
  readonly amount: number;
  /** Returns the message of the error at that limit. */
  message(limit: number): string;
  /** `Retry-After` in seconds. */
  readonly retryAfter: number;
}

/** Counts what is in progress in this process at a time. */
interface InProgress {
  /** Throws `concurrency_limited` if a claim exceeds its limit. */
  require(claims: readonly Claim[]): void;
  /** Counts claims until the returned function is called, whether or not they exceed a limit. */
  count(claims: readonly Claim[]): () => void;
  /** Counts claims until the returned function is called. Throws as `require` does. */
  enter(claims: readonly Claim[]): () => void;
}

/** Creates the counters, all at zero. */
export function createInProgress(): InProgress {
  const counts = new Map<string, Map<string, number>>();

  function change({ policy, key }: Claim, by: number): void {
    let byKey = counts.get(policy);
    if (byKey === undefined) {
      byKey = new Map();
      counts.set(policy, byKey);
    }
    const count = (byKey.get(key) ?? 0) + by;
    if (count <= 0) byKey.delete(key);
    else byKey.set(key, count);
  }

  const inProgress: InProgress = {
    require(claims) {
      for (const { policy, key, limit, message, retryAfter } of claims) {
        if (limit === undefined || (counts.get(policy)?.get(key) ?? 0) < limit) continue;
        throw tooManyAtOnce(policy, limit, message(limit), retryAfter);
      }
    },
    count(claims) {
      for (const claim of claims) change(claim, claim.amount);
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        for (const claim of claims) change(claim, -claim.amount);
      };
    },
    enter(claims) {
      inProgress.require(claims);
      return inProgress.count(claims);
    },
  };
  return inProgress;
}

/** Creates the error for something beyond a limit of what is in progress, and counts the refusal. */
export function tooManyAtOnce(policy: string, limit: number, message: string, retryAfter = 1): AppError {
  rateLimited.bind({ policy }).add();
  return new AppError('RESOURCE_EXHAUSTED', 'concurrency_limited', message, {
    details: { policy, limit, window_seconds: 0, retry_after_seconds: retryAfter, reason: 'concurrency' },
    retryAfter,
  });
}
