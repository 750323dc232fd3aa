import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import { type AnswerHead, completionOf, finishFrame, replyFrames, usageFrame, usageOf } from './frames.js';
import { type ScriptedReply, tokensOf } from './script.js';

/** A call that was made, and how it ended. */
export interface ReceivedCall {
  readonly request: ChatCompletionCreateParams;
  /** Tokens that are billed, even if the answer does not report them. */
  readonly billed: { inputTokens: number; outputTokens: number };
  status: number;
  /** `open` while the answer is being sent, `aborted` when the client went away before its end. */
  state: 'open' | 'answered' | 'aborted' | 'faulty';
}

export interface Answering {
  readonly inputTokens: number;
  readonly signal: AbortSignal;
  readonly onToken: () => void;
}

/** Answers a call by a reply. Throws when the signal aborts. */
export async function answer(
  response: ServerResponse,
  call: ReceivedCall,
  reply: ScriptedReply,
  { inputTokens, signal, onToken }: Answering,
): Promise<void> {
  await pause(reply.firstDelayMs, signal);
  call.status = reply.status ?? 200;
  if (call.status !== 200) {
    sendError(response, reply);
    call.state = 'answered';
    return;
  }
  call.billed.inputTokens = inputTokens;
  call.state = await (call.request.stream ? stream : whole)(response, call, reply, signal, onToken);
}

type Send = (
  response: ServerResponse,
  call: ReceivedCall,
  reply: ScriptedReply,
  signal: AbortSignal,
  onToken: () => void,
) => Promise<ReceivedCall['state']>;

/** Sends a reply as an event stream. */
const stream: Send = async (response, call, reply, signal, onToken) => {
  const event = (data: unknown): void => void response.write(`data: ${JSON.stringify(data)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...reply.headers });
  response.flushHeaders();
  const { fault, frames } = reply;
  const head = headOf(call);
  if (frames === undefined) {
    const limit = Math.min(limitOf(call), fault?.afterTokens ?? Number.POSITIVE_INFINITY);
    let isCut = false;
    for (const { chunk, tokens } of replyFrames(head, reply)) {
      isCut = tokens > 0 && call.billed.outputTokens >= limit;
      if (isCut) break;
      if (tokens > 0) await pause(reply.delayMs, signal);
      signal.throwIfAborted();
      event(chunk);
      call.billed.outputTokens += tokens;
      if (tokens > 0) onToken();
    }
    if (fault !== undefined) return breakDown(response, reply, signal);
    event(finishFrame(head, isCut ? { finishReason: 'length' } : reply));
    if (head.includeUsage && reply.usage !== 'none') event(usageFrame(head, reported(call, reply)));
  } else for (const frame of frames) event(frame);
  response.end('data: [DONE]\n\n');
  return 'answered';
};

/** Sends a reply as one object. */
const whole: Send = async (response, call, reply, signal) => {
  const head = headOf(call);
  const limit = limitOf(call);
  const tokens = replyFrames(head, reply).reduce((sum, frame) => sum + frame.tokens, 0);
  await pause((reply.delayMs ?? 0) * tokens, signal);
  if (reply.fault !== undefined) return breakDown(response, reply, signal);
  call.billed.outputTokens = Math.min(tokens, limit);
  const sent = tokens <= limit ? reply : { text: tokensOf(reply).slice(0, limit), finishReason: 'length' as const };
  send(response, 200, completionOf(head, sent, reply.usage === 'none' ? undefined : reported(call, reply)));
  return 'answered';
};

async function breakDown(response: ServerResponse, { fault }: ScriptedReply, signal: AbortSignal): Promise<'faulty'> {
  switch (fault?.type) {
    case 'hang':
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      break;
    case 'end':
      response.end();
      break;
    case 'malformed':
      response.end('data: {"id":"chatcmpl-1","choices":[{"del\n\n');
      break;
    case 'error': {
      const error = { message: 'The server had an error', type: 'server_error', param: null, code: fault.code ?? null };
      response.end(`data: ${JSON.stringify({ error })}\n\n`);
      break;
    }
    default:
      // Lets the written bytes leave before the connection breaks.
      await wait(1);
      response.destroy();
  }
  return 'faulty';
}

/** Tokens that a reply may have. */
function limitOf({ request }: ReceivedCall): number {
  return request.max_tokens ?? request.max_completion_tokens ?? Number.POSITIVE_INFINITY;
}

function headOf({ request }: ReceivedCall): AnswerHead {
  const includeUsage = request.stream_options?.include_usage === true;
  return { id: 'chatcmpl-1', model: request.model, created: Math.floor(Date.now() / 1000), includeUsage };
}

function reported({ billed }: ReceivedCall, { usage }: ScriptedReply) {
  const { inputTokens, outputTokens } = typeof usage === 'object' ? usage : billed;
  return usageOf(inputTokens, outputTokens);
}

async function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined && ms > 0) await wait(ms, undefined, { signal });
}

/** Sends an error in the vendor's form. */
export function sendError(response: ServerResponse, { status = 500, error = {}, headers = {} }: ScriptedReply): void {
  const { message = 'error', type = 'invalid_request_error', param = null, code = null } = error;
  send(response, status, { error: { message, type, param, code } }, headers);
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
