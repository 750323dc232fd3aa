import { maxEntries } from '@commonplace/kit/cache';
import { fingerprint } from '@commonplace/kit/id';
import { LRUCache } from 'lru-cache';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import { type PolicyName, WINDOW_SECONDS } from '../rate-limits.js';

/** Counts the requests of one policy by key. */
export interface Limiter {
  /** Consumes one request of the key's window. Rejects with the state of the window if it is used up. */
  consume(key: string): Promise<RateLimiterRes>;
}

/** Creates the limiter of a policy that allows `limit` requests in a window. */
export type CreateLimiter = (policy: PolicyName, limit: number) => Limiter;

/** Creates a limiter that counts in this process, for a system with one gateway. */
export const createLocalLimiter: CreateLimiter = (policy, limit) =>
  new RateLimiterMemory({ points: limit, duration: WINDOW_SECONDS, keyPrefix: policy });

/** A part of a window that all gateways share. */
interface Slice {
  readonly granted: number;
  readonly left: number;
  readonly resetMs: number;
}

/** Takes up to `wanted` requests from the shared counter, and always adds the `spent` requests to it. */
export type TakeSlice = (about: {
  readonly policy: PolicyName;
  readonly counter: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly wanted: number;
  readonly spent: number;
}) => Promise<Slice>;

/** Fraction of a limit that a gateway takes at a time. */
const SLICE = 1 / 20;
/** Fraction of a limit that a gateway may serve in a window before it has its first slice. */
const CREDIT = 1 / 100;
const WINDOW_MS = WINDOW_SECONDS * 1000;
/** Maximum number of keys of one policy that are counted at a time. */
const MAX_KEYS = 100_000;

/**
 * Creates limiters that count across gateways. A gateway takes slices of the shared window ahead of need, so that a
 * request waits for another process only when a slice is used up, or for the first requests of limits below 100.
 * Together the gateways exceed the limit by at most a hundredth of it each. While the shared counter does not answer,
 * each gateway counts on its own.
 */
export function createSharedLimiters(take: TakeSlice): CreateLimiter {
  return (policy, limit) => {
    const shares = new LRUCache<string, Share>({ ...maxEntries(MAX_KEYS), ttl: WINDOW_MS, updateAgeOnGet: false });
    return {
      async consume(key) {
        let share = shares.get(key);
        if (share === undefined || share.isOver) {
          const counter = fingerprint(key);
          const { isAlone = false } = share ?? {};
          share = new Share(limit, isAlone, (request) =>
            take({ policy, counter, limit, windowMs: WINDOW_MS, ...request }),
          );
          shares.set(key, share);
        }
        return share.consume();
      },
    };
  };
}

/** One gateway's part of the window of one key. */
class Share {
  /** Requests of the slice that are not used yet. */
  private available = 0;
  /** Requests that other gateways or a later slice may still take; undefined until the first answer. */
  private sharedLeft: number | undefined;
  private credit: number;
  /** Requests served on credit that the shared counter does not include yet. */
  private spent = 0;
  /** Number of requests that this gateway let through. */
  private used = 0;
  private waiting = 0;
  private endsAt = performance.now() + WINDOW_MS;
  private asking: Promise<void> | undefined;
  private readonly size: number;

  constructor(
    private readonly limit: number,
    wasAlone: boolean,
    private readonly ask: (request: { readonly wanted: number; readonly spent: number }) => Promise<Slice>,
  ) {
    this.size = Math.max(1, Math.floor(limit * SLICE));
    // While the shared counter does not answer, requests do not wait for another failure.
    this.credit = wasAlone ? this.size : Math.floor(limit * CREDIT);
  }

  /** Whether the shared counter did not answer, so that this gateway counts on its own until the window ends. */
  isAlone = false;

  get isOver(): boolean {
    return performance.now() >= this.endsAt;
  }

  async consume(): Promise<RateLimiterRes> {
    while (!this.takeOne()) {
      if (this.sharedLeft === 0) throw this.state();
      this.waiting++;
      await this.refill();
      this.waiting--;
    }
    this.used++;
    if (this.needsMore()) void this.refill();
    return this.state();
  }

  private takeOne(): boolean {
    if (this.available > 0) this.available--;
    else if (this.sharedLeft === undefined && this.credit > 0) {
      this.credit--;
      this.spent++;
    } else return false;
    return true;
  }

  /**
   * Returns whether to take the next slice before this one is used up. Small limits do not, because other gateways
   * would lack what one holds in reserve.
   */
  private needsMore(): boolean {
    if (this.sharedLeft === undefined) return this.size > 1;
    return this.sharedLeft > 0 && this.size > 1 && this.available < this.size / 2;
  }

  private refill(): Promise<void> {
    this.asking ??= this.reserveBatch().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async reserveBatch(): Promise<void> {
    const request = { wanted: Math.max(this.size > 1 ? this.size : 0, this.waiting), spent: this.spent };
    this.spent = 0;
    try {
      const { granted, left, resetMs } = await this.ask(request);
      this.available += granted;
      this.sharedLeft = left;
      this.endsAt = performance.now() + resetMs;
    } catch {
      this.isAlone = true;
      this.available = Math.max(0, this.limit - this.used);
      this.sharedLeft = 0;
    }
  }

  private state(): RateLimiterRes {
    const left = this.sharedLeft === undefined ? this.limit - this.used : this.available + this.sharedLeft;
    return new RateLimiterRes(Math.max(0, left), Math.max(0, this.endsAt - performance.now()), this.used);
  }
}
