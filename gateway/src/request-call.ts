import type { ServerResponse } from 'node:http';
import type { CallMetadata, CallOptions, Reply } from '@commonplace/kit/rpc';

/**
 * The call of a read, which is cancelled when its client disconnects. It is a class, so that the signal is created only
 * when something listens to it.
 */
export class ReadCall implements CallOptions {
  #gone: AbortController | undefined;

  constructor(
    readonly metadata: CallMetadata,
    readonly deadline: number,
    readonly reply: Reply,
    private readonly response: ServerResponse,
  ) {}

  get isCancelled(): boolean {
    return this.response.destroyed;
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      const gone = new AbortController();
      this.#gone = gone;
      if (this.response.destroyed) gone.abort();
      else this.response.once('close', () => this.response.writableFinished || gone.abort());
    }
    return this.#gone.signal;
  }
}
