import type { PeerTokens } from '@commonplace/kit/auth';
import { at, cancelled, onCancelled } from '@commonplace/kit/deadline';
import { type AppError, asAppError, Timeout, Unavailable } from '@commonplace/kit/errors';
import type { CallOptions, Channel, Client, ServedMethod, ServedMethods } from '@commonplace/kit/rpc';
import { ArrivedCall } from '../calls/arrived-call.js';
import { refusalOf } from '../calls/refusal.js';

/**
 * Creates the channel between services in one process, which makes function calls. Deadlines, cancellation, tokens and
 * errors behave as over the network, so that a service sees no difference.
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
    // Every call runs on the event loop of its caller.
    takeUtilization: () => 0,
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
  if (method === undefined) return failing(Unavailable({}, { cause: new Error(`no service implements ${path}`) }));
  return method.streams ? boundedStream(method, request, options, peers) : bounded(method, request, options, peers);
}

/** Returns a rejected promise that is also an async iterable, for unary and streaming methods alike. */
function failing(error: AppError): Promise<never> & AsyncIterable<never> {
  const promise = Promise.reject(error) as Promise<never> & AsyncIterable<never>;
  promise.catch(() => {});
  promise[Symbol.asyncIterator] = () => ({ next: () => Promise.reject(error) });
  return promise;
}

/** Runs one call under its deadline. */
function bounded(method: ServedMethod, request: unknown, options: CallOptions, peers: PeerTokens): Promise<unknown> {
  const incoming = new ArrivedCall(options, peers.mint(), false);
  const answer = method.unary(request, incoming);
  return new Promise((resolve, reject) => {
    const giveUp = (error: AppError) => {
      incoming.abort(() => error);
      reject(error);
    };
    const inTime = at(options.deadline, () => giveUp(Timeout()));
    const wanted = onCancelled(options, () => giveUp(cancelled()));
    const done = () => {
      inTime();
      wanted();
    };
    answer.then(done, done);
    answer.then(resolve, (error) => reject(asAppError(error)));
  });
}

/** Runs a stream under its deadline: a handler that hangs between two messages is cancelled too. */
async function* boundedStream(
  method: ServedMethod,
  request: unknown,
  options: CallOptions,
  peers: PeerTokens,
): AsyncIterable<unknown> {
  const incoming = new ArrivedCall(options, peers.mint(), false);
  let fail: (error: AppError) => void = () => {};
  let over: AppError | undefined;
  const giveUp = (error: AppError) => {
    incoming.abort(() => error);
    over = error;
    fail(error);
  };
  const inTime = at(options.deadline, () => giveUp(Timeout()));
  const wanted = onCancelled(options, () => giveUp(cancelled()));
  const messages = method.stream(request, incoming)[Symbol.asyncIterator]();
  const next = () =>
    new Promise<IteratorResult<unknown>>((resolve, reject) => {
      fail = reject;
      if (over === undefined) messages.next().then(resolve, reject);
      else reject(over);
    });
  try {
    for (;;) {
      const { done, value } = await next();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw asAppError(error);
  } finally {
    inTime();
    wanted();
    const stopped = messages.return?.();
    if (!incoming.isCancelled) await stopped;
  }
}
