import { type Fetched, type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';

/** A response has more bytes than all responses of its connection may have together. */
export class TooLarge extends Error {}

export interface McpHttpOptions {
  /** Bytes of all responses together. */
  readonly maxBytes: number;
  /** Aborts everything: it carries the time limit as well. */
  readonly signal: AbortSignal;
  /** Headers of each request to `origin`, and of no other. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Origin that gets the headers and the token. */
  readonly origin?: string;
  /** Whether a stream is opened on which the server answers: by the deprecated transport. */
  readonly listens?: boolean;
  /** Returns the token to send; `rejected` is one that the server has refused just now. */
  token?(rejected?: string): Promise<string | undefined>;
}

type RequestState = 'none' | 'sent' | 'answered';

/**
 * Requests of one connection to a server that strangers run: each goes through the guard, which checks its address, and
 * redirects of all but GET are refused. Keeps what is needed to tell afterwards whether the server can have acted.
 */
export class McpHttp {
  /** Why the guard refused a request. */
  refusal: UrlNotAllowed | undefined;
  /** Why there was no token. */
  failure: Error | undefined;
  /** Why the latest request has got no response. */
  error: unknown;
  /** Status of the latest response. */
  status: number | undefined;
  tooLarge = false;
  /** How far the latest tool call came: `answered` once its response has ended with a status or a body. */
  call: RequestState = 'none';
  private bytes = 0;

  constructor(
    private readonly guard: Guard,
    private readonly options: McpHttpOptions,
  ) {}

  /** `fetch` for the libraries. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input instanceof Request ? input.url : input));
    const method = (init.method ?? 'GET').toUpperCase();
    // The stream on which a server sends what nobody asked for is of no use here. One that goes on with a result is.
    const given = new Headers(init.headers as Headers | undefined);
    const isOwn = url.origin === this.options.origin;
    const isListening = isOwn && method === 'GET' && wantsStream(given);
    if (isListening && !this.options.listens && !given.has('last-event-id')) {
      return new Response(null, { status: 405 });
    }
    const token = isOwn ? await this.token() : undefined;
    const answer = await this.send(url, method, given, init, token);
    if (answer.status !== 401 || token === undefined || this.options.token === undefined) return answer;
    // Nothing was done for a request that was refused, so that it may be sent again with another token.
    const renewed = await this.token(token);
    if (renewed === undefined || renewed === token) return answer;
    await answer.body?.cancel();
    return this.send(url, method, given, init, renewed);
  };

  private async token(rejected?: string): Promise<string | undefined> {
    try {
      return await this.options.token?.(rejected);
    } catch (error) {
      if (error instanceof Error) this.failure = error;
      throw error;
    }
  }

  private async send(url: URL, method: string, given: Headers, init: RequestInit, token?: string): Promise<Response> {
    const { origin, headers = {} } = this.options;
    const sent = new Headers(url.origin === origin ? headers : {});
    for (const [name, value] of given) sent.set(name, value);
    if (token !== undefined) sent.set('authorization', `Bearer ${token}`);
    const body = textOf(init.body);
    const isCall = isToolCall(body);
    if (isCall) this.call = 'sent';
    const signals = [this.options.signal, ...(init.signal ? [init.signal] : [])];
    const answer = await this.guard
      .fetch(url.href, {
        method: method as 'GET' | 'POST' | 'DELETE',
        headers: Object.fromEntries(sent),
        ...(body === undefined ? {} : { body }),
        manual: true,
        signal: AbortSignal.any(signals),
      })
      .catch((error: unknown) => {
        this.error = error;
        if (error instanceof UrlNotAllowed) this.refusal = error;
        if (isCall && neverLeft(error)) this.call = 'none';
        throw error;
      });
    return this.responseOf(answer, method, isCall);
  }

  private responseOf(answer: Fetched, method: string, isCall: boolean): Response {
    const { status, headers, body } = answer;
    this.status = status;
    if (isCall && wasRefused(status)) this.call = 'answered';
    if (status >= 300 && status < 400 && method !== 'GET') {
      body.destroy();
      this.refusal = new UrlNotAllowed('The server redirects, which is not followed.');
      throw this.refusal;
    }
    const named = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) named.set(name, Array.isArray(value) ? value.join(', ') : value);
    }
    const isEmpty = WITHOUT_BODY.has(status);
    if (isEmpty) body.destroy();
    const response = new Response(isEmpty ? null : this.streamOf(body), { status, headers: named });
    return response;
  }

  private streamOf(body: Fetched['body']): ReadableStream<Uint8Array> {
    const pieces = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    return new ReadableStream(
      {
        pull: async (controller) => {
          const { done, value } = await pieces.next();
          if (done) return controller.close();
          this.bytes += value.length;
          if (this.bytes > this.options.maxBytes) {
            this.tooLarge = true;
            body.destroy();
            throw new TooLarge(`The answer has more than ${this.options.maxBytes} bytes.`);
          }
          controller.enqueue(value);
        },
        cancel: () => void body.destroy(),
      },
      { highWaterMark: 0 },
    );
  }
}

/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/** Statuses with which a server says that it has not acted. Others, above all those of proxies, say nothing about it. */
const wasRefused = (status: number): boolean => (status >= 300 && status < 500 && status !== 408) || status === 503;

const NEVER_LEFT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Returns whether an error arose before a connection was there, so that the request cannot have arrived. */
function neverLeft(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof UrlNotAllowed) return true;
    const { code = '' } = cause as { readonly code?: string };
    if (NEVER_LEFT.has(code) || code.startsWith('ERR_TLS') || code.includes('CERT')) return true;
  }
  return false;
}

function textOf(body: RequestInit['body']): string | undefined {
  if (typeof body === 'string') return body;
  return body instanceof URLSearchParams ? body.toString() : undefined;
}

function isToolCall(body: string | undefined): boolean {
  if (body === undefined || !body.startsWith('{')) return false;
  const { method } = JSON.parse(body) as { readonly method?: unknown };
  return method === 'tools/call';
}

function wantsStream(headers: Headers): boolean {
  const accept = headers.get('accept') ?? '';
  return accept.includes('text/event-stream') && !accept.includes('application/json');
}
