import type { PeerTokens } from '../auth/token.js';
import { type AppError, asAppError, Timeout, Unavailable } from '../errors/index.js';
import type { CallOptions, Channel, Client, IncomingCall, ServedMethod, ServedMethods } from './port.js';
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
    ? method.stream(request, incoming(options, peers, createStop()))
    : bounded(method, request, options, peers);
}

/** Aborts a handler's signal. Most handlers never ask for theirs, so it is made when they do. */
interface Stop {
  readonly signal: AbortSignal;
  abort(reason: AppError): void;
}

function createStop(): Stop {
  let controller: AbortController | undefined;
  let reason: AppError | undefined;
  return {
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (reason !== undefined) controller.abort(reason);
      }
      return controller.signal;
    },
    abort(why) {
      reason = why;
      controller?.abort(why);
    },
  };
}

function incoming(options: CallOptions, peers: PeerTokens, stop: Stop): IncomingCall {
  return {
    metadata: options.metadata,
    peerToken: peers.mint(),
    deadline: options.deadline,
    reply: options.reply ?? {},
    get signal() {
      return stop.signal;
    },
  };
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
  const stop = createStop();
  const answer = method.unary(request, incoming(options, peers, stop));
  return new Promise((resolve, reject) => {
    const giveUp = (error: AppError) => {
      stop.abort(error);
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
  const slice = Math.ceil(deadline / SLICE_MS);
  let waiting = slices.get(slice);
  if (waiting === undefined) {
    waiting = new Set();
    slices.set(slice, waiting);
    const timer = setTimeout(
      () => {
        const expiring = slices.get(slice) ?? [];
        slices.delete(slice);
        for (const one of expiring) one();
      },
      Math.max(0, Math.min(slice * SLICE_MS - Date.now(), 2 ** 31 - 1)),
    );
    timer.unref();
  }
  const entry = waiting;
  entry.add(expired);
  return () => entry.delete(expired);
}
