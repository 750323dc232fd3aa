import type { AppError } from '../errors/index.js';
import type { CallMetadata, IncomingCall, Reply } from './port.js';

/**
 * A call as it arrives, from the same process or another. Most handlers never ask for their signal, so it is made when
 * they do; a class, because an object literal with an accessor is slow to make.
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

  get givenUp(): boolean {
    return this.#reason !== undefined;
  }

  /** Gives it up; why is only asked where somebody listens, for the network ends the answered calls too. */
  abort(reason: () => AppError): void {
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}
