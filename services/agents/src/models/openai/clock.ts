/** Time limits of a call, in milliseconds. */
interface CallLimits {
  readonly timeoutMs: number;
  /** Without a byte from the provider; undefined for a reply that arrives in one piece. */
  readonly idleMs: number | undefined;
  /** For the usage, after the caller's abort or the end of the reply. */
  readonly drainMs: number;
}

/** The limit that ended a call. */
export type Limit = 'timeout' | 'idle' | 'drain';

/**
 * Aborts one call when it exceeds a limit. Idle time counts only while the adapter waits for the provider, not while
 * the consumer is busy with an event.
 */
export class CallClock {
  readonly #stop = new AbortController();
  readonly #overall: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #drain: NodeJS.Timeout | undefined;
  #isWaiting = false;
  #exceeded: Limit | undefined;
  readonly #startDrain = (): void => {
    this.#drain ??= setTimeout(() => this.#end('drain'), this.limits.drainMs);
  };

  constructor(
    private readonly limits: CallLimits,
    private readonly caller: AbortSignal,
  ) {
    this.#overall = setTimeout(() => this.#end('timeout'), limits.timeoutMs);
    caller.addEventListener('abort', this.#startDrain, { once: true });
  }

  /** Aborts the connection. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The limit that was exceeded, if any. */
  get exceeded(): Limit | undefined {
    return this.#exceeded;
  }

  /** Waits for the provider, counting idle time. */
  async wait<T>(promise: Promise<T>): Promise<T> {
    this.#isWaiting = true;
    this.received();
    try {
      return await promise;
    } finally {
      this.#isWaiting = false;
      clearTimeout(this.#idle);
    }
  }

  /** Restarts the idle time, after the provider has sent something. */
  received(): void {
    clearTimeout(this.#idle);
    const { idleMs } = this.limits;
    if (this.#isWaiting && idleMs !== undefined) this.#idle = setTimeout(() => this.#end('idle'), idleMs);
  }

  /** Starts the drain time, when only the usage is missing. */
  finished(): void {
    this.#startDrain();
  }

  /** Aborts the connection if it is still open, and stops the timers. */
  close(): void {
    this.#stop.abort();
    this.caller.removeEventListener('abort', this.#startDrain);
    for (const timer of [this.#overall, this.#idle, this.#drain]) clearTimeout(timer);
  }

  #end(limit: Limit): void {
    this.#exceeded ??= limit;
    this.#stop.abort();
  }
}
