import { Timeout, Unavailable } from '@commonplace/kit/errors';
import { connectivityState, type Client as GrpcClient } from '@grpc/grpc-js';

/** Milliseconds that calls wait for a connection, as long as a connection may leave a ping without an answer. */
const CONNECT_MS = 5_000;

/**
 * Waits for the connection of a client. grpc-js does not limit the time of an attempt to connect: while a process hangs
 * or its machine is gone, each call would wait for the connection until its deadline.
 */
export class Connecting {
  readonly #grpc: GrpcClient;
  /** When calls first waited for the current attempt; undefined while there is a connection. */
  #since: number | undefined;

  constructor(grpc: GrpcClient) {
    this.#grpc = grpc;
  }

  isConnected(): boolean {
    return this.#state(false) === connectivityState.READY;
  }

  /**
   * Waits until a call can be sent. Throws Unavailable if there has been no connection for `CONNECT_MS`, at once if
   * that was so before. Where attempts fail, grpc-js refuses the call itself.
   */
  async wait(deadline: number): Promise<void> {
    for (;;) {
      const state = this.#state(true);
      if (state !== connectivityState.CONNECTING && state !== connectivityState.IDLE) return;
      const giveUpAt = this.#began() + CONNECT_MS;
      const now = Date.now();
      if (now >= giveUpAt) throw Unavailable({}, { retryAfter: 1 });
      if (now >= deadline) throw Timeout({});
      await this.#changed(state, Math.min(giveUpAt, deadline));
    }
  }

  #state(tryToConnect: boolean): connectivityState {
    return this.#grpc.getChannel().getConnectivityState(tryToConnect);
  }

  #changed(state: connectivityState, until: number): Promise<void> {
    return new Promise((resolve) => this.#grpc.getChannel().watchConnectivityState(state, until, () => resolve()));
  }

  /** Returns since when there has been no connection, and watches for one. */
  #began(): number {
    if (this.#since === undefined) {
      this.#since = Date.now();
      void this.#watch();
    }
    return this.#since;
  }

  async #watch(): Promise<void> {
    for (;;) {
      const state = this.#state(false);
      if (state === connectivityState.READY || state === connectivityState.SHUTDOWN) break;
      await this.#changed(state, Number.POSITIVE_INFINITY);
    }
    this.#since = undefined;
  }
}
