import { type Fetched, type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';

/** Thrown if the responses of a connection exceed its limit of bytes. */
class TooLarge extends Error {}

interface McpHttpOptions {
  /** Maximum bytes of all responses together. */
  readonly maxBytes: number;
  /** Aborts all requests; it includes the time limit. */
  readonly signal: AbortSignal;
  /** Headers that are sent to `origin` only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The origin that receives the headers and the token. */
  readonly origin?: string;
  /** Whether the deprecated transport is used, whose responses arrive on a separate stream. */
  readonly listens?: boolean;
  /** Returns the token to send; `rejected` is a token that the server has just refused. */
  token?(rejected?: string): Promise<string | undefined>;
}

type RequestState = 'none' | 'sent' | 'answered';

/**
 * Makes the requests of one connection to an untrusted server. Each passes the guard, which checks the address;
 * redirects are refused except for GET. It records whether the server can have acted.
 */
export class McpHttp {
  /** The guard's reason for refusing a request. */
  refusal: UrlNotAllowed | undefined;
  /** The error of getting a token. */
  failure: Error | undefined;
  /** The error of the latest request without a response. */
  error: unknown;
  /** The status of the latest response. */
  status: number | undefined;
  tooLarge = false;
  /**
   * The progress of the latest tool call: `none` if it cannot have arrived, `answered` if the server refused it without
   * acting.
   */
  call: RequestState = 'none';
  private bytes = 0;

  constructor(
    private readonly guard: Guard,
    private readonly options: McpHttpOptions,
  ) {}

  /** The `fetch` function for the libraries. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input instanceof Request ? input.url : input));
    const method = (init.method ?? 'GET').toUpperCase();
    // A stream for messages outside of requests is not needed and refused; one that resumes a result is needed.
    const given = new Headers(init.headers as Headers | undefined);
    const isOwn = url.origin === this.options.origin;
    const isListening = isOwn && method === 'GET' && wantsStream(given);
    if (isListening && !this.options.listens && !given.has('last-event-id')) {
      return new Response(null, { status: 405 });
    }
    const token = isOwn ? await this.token() : undefined;
    const answer = await this.send(url, method, given, init, token);
    if (answer.status !== 401 || token === undefined || this.options.token === undefined) return answer;
    // A server does nothing for a request that it refuses, so the request may be sent again with another token.
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

/**
 * Returns whether a status means that the server has not acted. Other statuses, such as those of proxies, leave it
 * open.
 */
const wasRefused = (status: number): boolean => (status >= 300 && status < 500 && status !== 408) || status === 503;

const NEVER_LEFT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Returns whether an error arose before the connection was established, so that the request cannot have arrived. */
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
