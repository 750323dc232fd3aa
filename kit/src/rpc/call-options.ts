import { isCancelled } from '../deadline/cancellation.js';
import type { CallMetadata, CallOptions, Reply } from './port.js';

/**
 * Returns the same options with an earlier deadline, if `deadline` is earlier, for work that is not essential to the
 * answer.
 */
export function sooner(options: CallOptions, deadline: number): CallOptions {
  return new AlongWith(options, options.metadata, Math.min(options.deadline, deadline));
}

/** Options of a call that is cancelled together with another one, whose signal is created on demand. */
export class AlongWith implements CallOptions {
  readonly #other: CallOptions;

  constructor(
    other: CallOptions,
    readonly metadata: CallMetadata,
    readonly deadline: number,
    readonly reply?: Reply,
  ) {
    this.#other = other;
  }

  get signal(): AbortSignal | undefined {
    return this.#other.signal;
  }

  get isCancelled(): boolean {
    return isCancelled(this.#other);
  }
}
