import type { Page, Warning } from './generated/types.js';

/** Settings of a client. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly baseUrl: string;
  /** An API key (`wsk_…`) or an identity provider's token; a function is asked before every request. */
  readonly apiKey?: string | (() => string | Promise<string>);
  /** Milliseconds that one attempt may take until its answer has arrived. Default: 60,000. */
  readonly timeoutMs?: number;
  /** How often a request that may be repeated is repeated. Default: 3. */
  readonly maxRetries?: number;
  /** Milliseconds before the first repetition; every further one waits twice as long. Default: 500. */
  readonly retryDelayMs?: number;
  /** Milliseconds that a repetition waits at most. A server that asks for more gets none. Default: 30,000. */
  readonly maxRetryDelayMs?: number;
  /** Headers of all requests, such as `X-Tenant`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The `fetch` to use in place of the global one. */
  readonly fetch?: typeof fetch;
  /** Called with what stands around each successful answer. */
  readonly onResponse?: (info: ResponseInfo) => void;
}

/** Settings of one request, which go before those of the client. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
  /** The key under which the server takes the request once. A write without one gets a random key. */
  readonly idempotencyKey?: string;
  /** The version that the record must still have, or its ETag. Another one answers 409 `version_conflict`. */
  readonly ifMatch?: number | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onResponse?: (info: ResponseInfo) => void;
}

/** Settings of a stream of events. `timeoutMs` holds until it is open, and again wherever it is silent. */
export interface StreamOptions extends RequestOptions {
  /** The id of the last event that the caller has seen. */
  readonly lastEventId?: string;
}

/** What stands around the data of an answer. */
export interface ResponseInfo {
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string;
  readonly etag: string | null;
  /** Whether the answer is that of an earlier request with the same key. */
  readonly replayed: boolean;
  readonly warnings: readonly Warning[];
  readonly page: Page | undefined;
}

export const DEFAULT_TIMEOUT_MS = 60_000;
export const DEFAULT_MAX_RETRIES = 3;
export const DEFAULT_RETRY_DELAY_MS = 500;
export const DEFAULT_MAX_RETRY_DELAY_MS = 30_000;
