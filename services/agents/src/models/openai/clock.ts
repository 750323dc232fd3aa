/** Time limits of a call, in milliseconds. */
export interface CallLimits {
  readonly timeoutMs: number;
  /** Without a byte from the provider; undefined for a reply that comes in one piece. */
  readonly idleMs: number | undefined;
  /** After the caller's abort, or after the reply's end, for the usage. */
  readonly drainMs: number;
}

/** Which limit ended a call. */
export type Limit = 'timeout' | 'idle' | 'drain';

/**
 * Ends the connection of one call by its limits. Idle time counts only while the adapter waits for the provider, not
 * while the consumer is busy with an event.
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

  /** Ends the connection. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The limit that ended the connection, if one did. */
  get exceeded(): Limit | undefined {
    return this.#exceeded;
  }

  /** Waits for the provider. */
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

  /** Reports that the provider has sent something. */
  received(): void {
    clearTimeout(this.#idle);
    const { idleMs } = this.limits;
    if (this.#isWaiting && idleMs !== undefined) this.#idle = setTimeout(() => this.#end('idle'), idleMs);
  }

  /** Reports that only the usage is missing. */
  finished(): void {
    this.#startDrain();
  }

  /** Ends the connection if it is still open. */
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
