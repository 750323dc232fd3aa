import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { admit, type ChatServerOptions } from './admission.js';
import { answer, type ReceivedCall, send, sendError } from './answers.js';
import { createConversations } from './conversations.js';
import type { Script, ScriptedReply } from './script.js';

/** The sum of what was billed. */
export interface Billed {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** An OpenAI-compatible chat endpoint on the loopback interface whose replies come from scripts. */
export interface ChatServer {
  /** Base URL for clients, with `/v1`. */
  readonly url: string;
  /** All calls that reached a script, in order. */
  readonly calls: readonly ReceivedCall[];
  /** Adds replies to a conversation, or to any conversation. */
  script(script: Script): void;
  /** Adds replies to the next calls of any conversation. */
  next(...replies: ScriptedReply[]): void;
  billed(): Billed;
  /** Forgets scripts and calls. */
  reset(): void;
  close(): Promise<void>;
}

export async function openChatServer(options: ChatServerOptions = {}): Promise<ChatServer> {
  const conversations = createConversations();
  const calls: ReceivedCall[] = [];
  const stop = new AbortController();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.url?.startsWith('/control/')) return control(request, response, body);
    const admitted = admit(options, request, body);
    if (!('request' in admitted)) return sendError(response, admitted);
    const call: ReceivedCall = {
      request: admitted.request,
      billed: { inputTokens: 0, outputTokens: 0 },
      status: 200,
      state: 'open',
    };
    calls.push(call);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, stop.signal]);
    try {
      const reply = options.replyTo?.(call.request) ?? conversations.replyTo(call.request.messages);
      options.onProgress?.(call, 'called');
      const onToken = () => options.onProgress?.(call, 'token');
      await answer(response, call, reply, { inputTokens: admitted.inputTokens, signal, onToken });
      options.onProgress?.(call, 'answered');
    } catch (error) {
      if (!signal.aborted) throw error;
      call.state = 'aborted';
    }
  }

  function control({ method, url }: IncomingMessage, response: ServerResponse, body: string): void {
    let result: object = {};
    if (method === 'POST' && url === '/control/scripts') conversations.add(JSON.parse(body));
    else if (method === 'POST' && url === '/control/reset') reset();
    else if (method === 'GET' && url === '/control/calls') result = { calls, billed: sumOf(calls) };
    else sendError(response, { status: 404 });
    if (!response.headersSent) send(response, 200, result);
  }

  function reset(): void {
    conversations.clear();
    calls.length = 0;
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    script: conversations.add,
    next: (...replies) => conversations.add({ replies }),
    billed: () => sumOf(calls),
    reset,
    close: () =>
      new Promise((resolve) => {
        stop.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function sumOf(calls: readonly ReceivedCall[]): Billed {
  const billed = calls.map((call) => call.billed).filter(({ inputTokens }) => inputTokens > 0);
  const sum = (field: 'inputTokens' | 'outputTokens') => billed.reduce((total, one) => total + one[field], 0);
  return { calls: billed.length, inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') };
}
