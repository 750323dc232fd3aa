import type { CallMetadata, CallOptions, Reply } from './port.js';
import { at } from './slices.js';

/** What can be given up: its signal, and where that is made on demand, whether it has been. */
export interface GivenUp {
  readonly signal?: AbortSignal | undefined;
  readonly givenUp?: boolean;
}

/** Milliseconds that a call runs before somebody listens whether it is given up. */
const LISTEN_AFTER_MS = 50;

export function isGivenUp(call: GivenUp): boolean {
  return call.givenUp ?? call.signal?.aborted ?? false;
}

/**
 * Calls back when a call is given up; the function returned takes that back. A signal with its listener costs 12 µs, a
 * tenth of a short call, so that nobody listens to calls that are over sooner than it would matter.
 */
export function whenGivenUp(call: GivenUp, giveUp: () => void): () => void {
  let signal: AbortSignal | undefined;
  const release = at(Date.now() + LISTEN_AFTER_MS, () => {
    signal = call.signal;
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
  });
  return () => {
    release();
    signal?.removeEventListener('abort', giveUp);
  };
}

/** The same options with a deadline that may be sooner, for work that an answer can do without. */
export function sooner(options: CallOptions, deadline: number): CallOptions {
  return new AlongWith(options, options.metadata, Math.min(options.deadline, deadline));
}

/** Options of a call that is given up when another is, whose signal is made when somebody asks for it. */
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

  get givenUp(): boolean {
    return isGivenUp(this.#other);
  }
}
