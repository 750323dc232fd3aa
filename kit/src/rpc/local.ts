import type { PeerTokens } from '../auth/token.js';
import { type AppError, asAppError, Timeout, Unavailable } from '../errors/index.js';
import type {
  CallMetadata,
  CallOptions,
  Channel,
  Client,
  IncomingCall,
  Reply,
  ServedMethod,
  ServedMethods,
} from './port.js';
import { cancelled, refusalOf } from './refusal.js';

/**
 * The channel between services of one process: a function call. Deadline, cancellation, tokens and
 * errors are those of the network, so that a service can't tell.
 */
export function createLocalChannel(methods: ServedMethods, peers: PeerTokens): Channel {
  return {
    client: (service) => {
      const client: Record<string, unknown> = {};
      for (const [name, { path }] of Object.entries(service.definition)) {
        client[name] = (request: unknown, options: CallOptions) => call(methods, path, peers, request, options);
      }
      return client as Client<never>;
    },
    close: async () => {},
  };
}

function call(
  methods: ServedMethods,
  path: string,
  peers: PeerTokens,
  request: unknown,
  options: CallOptions,
): unknown {
  const refusal = refusalOf(options);
  if (refusal !== undefined) return failing(refusal);
  const method = methods.get(path);
  if (method === undefined) return failing(Unavailable({}, { cause: new Error(`nobody serves ${path}`) }));
  return method.streams
    ? method.stream(request, new LocalCall(options, peers.mint()))
    : bounded(method, request, options, peers);
}

/**
 * A call as it arrives in the same process. Most handlers never ask for their signal, so it is made
 * when they do; a class, because an object literal with an accessor is slow to make.
 */
class LocalCall implements IncomingCall {
  readonly metadata: CallMetadata;
  readonly deadline: number;
  readonly reply: Reply;
  #controller: AbortController | undefined;
  #reason: AppError | undefined;

  constructor(
    options: CallOptions,
    readonly peerToken: string,
  ) {
    this.metadata = options.metadata;
    this.deadline = options.deadline;
    this.reply = options.reply ?? {};
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: AppError): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** A rejected promise that is an async iterable as well, for whichever was expected. */
function failing(error: AppError): Promise<never> & AsyncIterable<never> {
  const promise = Promise.reject(error) as Promise<never> & AsyncIterable<never>;
  promise.catch(() => {});
  promise[Symbol.asyncIterator] = () => ({ next: () => Promise.reject(error) });
  return promise;
}

/**
 * One call under its deadline. The timer is shared by all calls of one slice of time: a timer for
 * each call costs more than the call.
 */
function bounded(method: ServedMethod, request: unknown, options: CallOptions, peers: PeerTokens): Promise<unknown> {
  const { signal, deadline } = options;
  const incoming = new LocalCall(options, peers.mint());
  const answer = method.unary(request, incoming);
  return new Promise((resolve, reject) => {
    const giveUp = (error: AppError) => {
      incoming.abort(error);
      reject(error);
    };
    const onAbort = () => giveUp(cancelled());
    const release = expire(deadline, () => giveUp(Timeout()));
    signal?.addEventListener('abort', onAbort, { once: true });
    const done = () => {
      release();
      signal?.removeEventListener('abort', onAbort);
    };
    answer.then(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(asAppError(error));
      },
    );
  });
}

const SLICE_MS = 50;
const slices = new Map<number, Set<() => void>>();

/** Calls `expired` within 50 ms after `deadline`; the function returned takes that back. */
function expire(deadline: number, expired: () => void): () => void {
  const number = Math.ceil(deadline / SLICE_MS);
  const slice = slices.get(number) ?? openSlice(number);
  slice.add(expired);
  return () => slice.delete(expired);
}

/** A function of its own, for a timer holds on to all that the function around it knows: a call and its answer. */
function openSlice(number: number): Set<() => void> {
  const slice = new Set<() => void>();
  slices.set(number, slice);
  const expireAll = () => {
    slices.delete(number);
    for (const expired of slice) expired();
  };
  setTimeout(expireAll, Math.max(0, Math.min(number * SLICE_MS - Date.now(), 2 ** 31 - 1))).unref();
  return slice;
}
