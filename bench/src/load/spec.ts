/** What a load generator sends, over and over. */
export interface LoadSpec {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Sent in turn by each connection, one after the other; each begins with another. */
  readonly requests: readonly LoadRequest[];
}

export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Answers other than 2xx, connections that broke, and answers that never came. */
  readonly failed: number;
  /** The share of one core that the generator itself took. */
  readonly busy: number;
}
