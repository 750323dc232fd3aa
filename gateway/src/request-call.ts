import type { ServerResponse } from 'node:http';
import type { CallMetadata, CallOptions, Reply } from '@commonplace/kit/rpc';

/**
 * The call that a read is answered by: it is given up when its client goes away. A class, because its signal is only
 * made where somebody listens to it.
 */
export class ReadCall implements CallOptions {
  #gone: AbortController | undefined;

  constructor(
    readonly metadata: CallMetadata,
    readonly deadline: number,
    readonly reply: Reply,
    private readonly response: ServerResponse,
  ) {}

  get givenUp(): boolean {
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
