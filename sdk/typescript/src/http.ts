import { ApiError, ConnectionError, errorOf, TimeoutError } from './errors.js';
import type { Page, Warning } from './generated/types.js';
import {
  type ClientOptions,
  DEFAULT_MAX_RETRIES,
  DEFAULT_MAX_RETRY_DELAY_MS,
  DEFAULT_RETRY_DELAY_MS,
  DEFAULT_TIMEOUT_MS,
  type RequestOptions,
  type ResponseInfo,
} from './options.js';
import { withRetries } from './retry.js';
import { sendBytes } from './send-bytes.js';

/** Bytes of a body. */
export type Bytes = Uint8Array<ArrayBuffer> | ArrayBuffer | Blob;

/** What a request sends besides its path. */
export interface Input {
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  readonly bytes?: Bytes;
  /** Called with how many of `bytes` are sent, counted anew with each attempt. The time of an attempt then starts anew too. */
  readonly onSent?: (sentBytes: number) => void;
}

export interface Request extends Input {
  readonly method: string;
  /** A path of the server, or a signed URL. */
  readonly path: string;
  /** Whether the server takes an idempotency key. */
  readonly keyed: boolean;
  readonly accept?: string;
}

export interface Envelope {
  readonly data?: unknown;
  readonly page?: Page;
  readonly warnings?: readonly Warning[];
  readonly request_id?: string;
}

/** Sends requests: credential, retries, timeouts and errors. */
export class Http {
  readonly #options: ClientOptions;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** Returns the JSON of an answer. Throws an `ApiError`, or a `ConnectionError` if there is no answer. */
  json(request: Request, options: RequestOptions = {}): Promise<Envelope> {
    return this.send(request, options, async (response) => {
      const text = await response.text();
      const body = JSON.parse(text) as Envelope;
      this.#tell(response, body, options);
      return body;
    });
  }

  /** Sends a request until it succeeds. `read` reads its answer within the time of the attempt. */
  async send<T>(request: Request, options: RequestOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const { maxRetries = this.#options.maxRetries ?? DEFAULT_MAX_RETRIES, signal } = options;
    const { retryDelayMs = DEFAULT_RETRY_DELAY_MS, maxRetryDelayMs = DEFAULT_MAX_RETRY_DELAY_MS } = this.#options;
    const isRead = request.method === 'GET';
    // All attempts send the same key, so that the server takes one of them.
    const key = isRead || !request.keyed ? undefined : (options.idempotencyKey ?? crypto.randomUUID());
    const repeatable = isRead || request.method === 'PUT' || key !== undefined;
    const attempt = () => this.#attempt(request, options, key, read);
    return withRetries(attempt, { maxRetries, retryDelayMs, maxRetryDelayMs }, repeatable, signal);
  }

  /** Yields the bytes of an open answer. Throws a `TimeoutError` if nothing comes for as long as an attempt may take. */
  async *chunks(response: Response, cut: AbortController, options: RequestOptions): AsyncGenerator<Uint8Array> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const reader = response.body?.getReader();
    for (;;) {
      let silent = false;
      let read: Awaited<ReturnType<NonNullable<typeof reader>['read']>> | undefined;
      const timer = setTimeout(() => {
        silent = true;
        cut.abort();
      }, timeoutMs);
      try {
        read = await reader?.read();
      } catch (error) {
        if (silent) throw new TimeoutError(`No event and no sign of life within ${timeoutMs} ms.`, { cause: error });
        throw error;
      } finally {
        clearTimeout(timer);
      }
      if (read === undefined || read.done) return;
      yield read.value;
    }
  }

  async #attempt<T>(
    request: Request,
    options: RequestOptions,
    key: string | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const headers = await this.#headers(request, options, key);
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timeout = new AbortController();
    let timer = setTimeout(() => timeout.abort(), timeoutMs);
    const onSent = (sentBytes: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => timeout.abort(), timeoutMs);
      request.onSent?.(sentBytes);
    };
    const signals = options.signal === undefined ? [timeout.signal] : [timeout.signal, options.signal];
    try {
      const body = request.bytes ?? (request.body === undefined ? null : JSON.stringify(request.body));
      const { method } = request;
      const init = { method, headers, body, signal: AbortSignal.any(signals), redirect: 'manual' } as const;
      const response =
        request.onSent === undefined || this.#options.fetch !== undefined
          ? await this.#fetch(this.#url(request), init)
          : await sendBytes(this.#url(request), init, onSent);
      if (!response.ok) throw errorOf(response.status, response.headers, await response.text());
      return await read(response);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      // A caller that has aborted gets their own reason.
      options.signal?.throwIfAborted();
      if (timeout.signal.aborted) throw new TimeoutError(`No answer within ${timeoutMs} ms.`, { cause: error });
      throw new ConnectionError(`The connection to ${this.#options.baseUrl} failed.`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #headers(request: Request, options: RequestOptions, key: string | undefined): Promise<Headers> {
    const { apiKey, headers: common } = this.#options;
    const headers = new Headers({ Accept: request.accept ?? 'application/json', ...common, ...options.headers });
    // A signed URL carries its own rights, and may be of another server.
    if (apiKey !== undefined && isOwn(request.path) && !headers.has('Authorization')) {
      headers.set('Authorization', `Bearer ${typeof apiKey === 'function' ? await apiKey() : apiKey}`);
    }
    if (request.body !== undefined) headers.set('Content-Type', 'application/json');
    if (request.bytes !== undefined && !headers.has('Content-Type')) {
      headers.set('Content-Type', 'application/octet-stream');
    }
    if (key !== undefined) headers.set('Idempotency-Key', key);
    if (options.ifMatch !== undefined) headers.set('If-Match', conditionOf(options.ifMatch));
    return headers;
  }

  #url({ path, query }: Request): string {
    const url = isOwn(path) ? this.#options.baseUrl.replace(/\/+$/, '') + path : path;
    const parameters = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
    if (parameters.length === 0) return url;
    const search = new URLSearchParams(parameters.map(([name, value]) => [name, textOf(value)]));
    return `${url}?${search}`;
  }

  #tell(response: Response, body: Envelope, options: RequestOptions): void {
    const info: ResponseInfo = {
      status: response.status,
      headers: response.headers,
      requestId: body.request_id ?? response.headers.get('x-request-id') ?? '',
      etag: response.headers.get('etag'),
      replayed: response.headers.get('idempotency-replayed') === 'true',
      warnings: body.warnings ?? [],
      page: body.page,
    };
    this.#options.onResponse?.(info);
    options.onResponse?.(info);
  }
}

const isOwn = (path: string) => path.startsWith('/');

/** Lists are separated by commas; objects are JSON. */
function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function conditionOf(version: number | string): string {
  return typeof version === 'number' ? `"v${version}"` : version;
}
