import { type Guard, openAiOptions } from '@commonplace/kit/fetch';
import type OpenAI from 'openai';
import type { RemoteModel } from '../model-list.js';
import { type ChatModel, type ModelEvent, type ModelInfo, type ModelRequest, ModelUnavailable } from '../port.js';
import { CallClock, type Limit } from './clock.js';
import { failureOf, refusedParameter } from './failure.js';
import { ReplyAssembler } from './reply.js';
import { chatParameters, type OptionalParameter } from './request.js';

export interface Endpoint {
  /** The base URL, to which `/chat/completions` is appended: `https://api.openai.com/v1`. */
  readonly url: string;
  /** The bearer token; undefined if the endpoint needs none. */
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly idleMs: number;
  /** Milliseconds to wait for the usage, after an abort or the end of the reply; 5,000 if absent. */
  readonly drainMs?: number;
  readonly guard: Guard;
  /** Aborts all calls. */
  readonly stop: AbortSignal;
}

const DRAIN_MS = 5000;
/** Maximum bytes of a reply; the frames of 100,000 tokens are smaller. */
const MAX_BYTES = 64 * 1024 * 1024;

const EXCEEDED: Record<Limit, string> = {
  timeout: 'the chat model takes too long',
  idle: 'the chat model has stopped sending',
  drain: 'the chat model has not ended its reply',
};

/** Opens a model with OpenAI's chat completions API, which many servers and vendors offer. It makes no call yet. */
export function openOpenAiModel(model: RemoteModel, endpoint: Endpoint): ChatModel {
  const refused = new Set<OptionalParameter>();
  return {
    info: infoOf(model),
    async *generate(request, signal) {
      if (signal.aborted) return yield { type: 'end', reason: 'aborted', receivedBytes: 0 };
      const { timeoutMs, idleMs, drainMs = DRAIN_MS, stop } = endpoint;
      const limits = { timeoutMs, idleMs: model.supportsStreaming ? idleMs : undefined, drainMs };
      const clock = new CallClock(limits, signal);
      const close = (): void => clock.close();
      stop.addEventListener('abort', close, { once: true });
      if (stop.aborted) close();
      try {
        yield* replyOf(openChunks(model, endpoint, request, refused, clock), clock, signal);
      } finally {
        stop.removeEventListener('abort', close);
        close();
      }
    },
  };
}

/** Converts the chunks of a reply into events. */
async function* replyOf(
  chunks: AsyncIterator<unknown>,
  clock: CallClock,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const reply = new ReplyAssembler();
  const end = () => ({ ...(reply.usage && { usage: reply.usage }), receivedBytes: reply.receivedBytes });
  try {
    for (;;) {
      const { done, value } = await clock.wait(chunks.next());
      if (done) break;
      const text = reply.add(value);
      if (reply.isFinished) clock.finished();
      if (text !== '' && !signal.aborted) yield { type: 'text', text };
    }
  } catch (error) {
    // A finished reply lacks only its usage.
    if (!signal.aborted && !reply.isFinished) throw failure(error, clock, reply);
  }
  if (!signal.aborted) {
    const { reason, calls } = ending(reply, clock);
    for (const call of calls) if (!signal.aborted) yield { type: 'tool_call', ...call };
    if (!signal.aborted) return yield { type: 'end', reason, ...end() };
  }
  yield { type: 'end', reason: 'aborted', ...end() };
}

function ending(reply: ReplyAssembler, clock: CallClock): ReturnType<ReplyAssembler['end']> {
  try {
    return reply.end();
  } catch (error) {
    throw failure(error, clock, reply);
  }
}

function failure(error: unknown, { exceeded, signal }: CallClock, { receivedBytes }: ReplyAssembler): Error {
  if (exceeded !== undefined) return new ModelUnavailable(EXCEEDED[exceeded], { receivedBytes });
  if (signal.aborted) return new ModelUnavailable('the process ends', { receivedBytes });
  return failureOf(error, receivedBytes);
}

/** Calls the model, and yields the chunks of its reply, or the whole reply as one. */
async function* openChunks(
  model: RemoteModel,
  endpoint: Endpoint,
  request: ModelRequest,
  refused: Set<OptionalParameter>,
  clock: CallClock,
): AsyncGenerator<unknown> {
  const client = await openClient(endpoint, () => clock.received());
  const answer = await acceptedCall(refused, () =>
    client.chat.completions.create(chatParameters(model, request, refused), { signal: clock.signal }),
  );
  if (Symbol.asyncIterator in answer) yield* answer;
  else yield answer;
}

/**
 * Makes a call. If an optional parameter is refused, it repeats the call without the parameter and adds it to
 * `refused`, so that later calls omit it too.
 */
async function acceptedCall<T>(refused: Set<OptionalParameter>, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const name = refusedParameter(error);
      if (name === undefined || refused.has(name)) throw error;
      refused.add(name);
    }
  }
}

/** Loads the library on the first call, because many installations never need it. */
async function openClient(endpoint: Endpoint, onBytes: () => void): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  return new Client(openAiOptions(endpoint, endpoint.guard, { maxBytes: MAX_BYTES, onBytes }));
}

function infoOf({ model: _model, supportsOutputSchema: _schema, ...info }: RemoteModel): ModelInfo {
  return { ...info, provider: 'openai_compatible' };
}
