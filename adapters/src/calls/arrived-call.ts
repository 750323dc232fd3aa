import type { AppError } from '@commonplace/kit/errors';
import type { CallMetadata, IncomingCall, Reply } from '@commonplace/kit/rpc';

/**
 * An incoming call, from the same process or another one. Most handlers never use their abort signal, so it is created
 * on demand. It is a class, because an object literal with an accessor is slow to create.
 */
export class ArrivedCall implements IncomingCall {
  readonly metadata: CallMetadata;
  readonly deadline: number;
  readonly reply: Reply;
  #controller: AbortController | undefined;
  #reason: (() => AppError) | undefined;

  constructor(
    { metadata, deadline, reply }: Pick<IncomingCall, 'metadata' | 'deadline'> & Partial<Pick<IncomingCall, 'reply'>>,
    readonly peerToken: string | undefined,
    readonly remote: boolean,
  ) {
    this.metadata = metadata;
    this.deadline = deadline;
    this.reply = reply ?? {};
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#reason !== undefined;
  }

  /**
   * Aborts the call. `reason` is only evaluated if the signal is in use, because the network aborts answered calls too.
   */
  abort(reason: () => AppError): void {
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}
