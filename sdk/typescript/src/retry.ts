import { ApiError, ConnectionError } from './errors.js';

export interface RetryRules {
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly maxRetryDelayMs: number;
}

/**
 * Runs an attempt again while it fails for a reason that passes. `repeatable` says whether the request may have an
 * effect twice without harm; one that may not is repeated only if the server has refused it before it began (429).
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  rules: RetryRules,
  repeatable: boolean,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const delayMs = delayOf(error, retries, rules, repeatable);
      if (delayMs === undefined) throw error;
      await sleep(delayMs, signal);
    }
  }
}

/** Returns the milliseconds to wait before the next attempt; undefined if there is none. */
function delayOf(error: unknown, retries: number, rules: RetryRules, repeatable: boolean): number | undefined {
  if (retries >= rules.maxRetries) return undefined;
  if (error instanceof ApiError) {
    if (!isPassing(error) || (!repeatable && error.status !== 429)) return undefined;
    if (error.retryAfterSeconds !== null) {
      const asked = error.retryAfterSeconds * 1000;
      // Some jitter, so that clients that were refused together do not come back together.
      return asked > rules.maxRetryDelayMs ? undefined : asked + Math.random() * rules.retryDelayMs;
    }
  } else if (!(error instanceof ConnectionError && repeatable)) {
    return undefined;
  }
  const most = Math.min(rules.maxRetryDelayMs, rules.retryDelayMs * 2 ** retries);
  return most * (0.5 + Math.random() / 2);
}

function isPassing({ status, code, retryable }: ApiError): boolean {
  return code === 'idempotency_in_progress' || retryable || [429, 502, 503, 504].includes(status);
}

/** Waits. Rejects with the signal's reason once it is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
