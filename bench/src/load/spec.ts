/** Requests that a load generator sends, over and over. */
export interface LoadSpec {
  /** Where to send them: the connections take them in turn. */
  readonly urls: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Divided among the connections, each of which sends its share in turn, over and over. */
  readonly requests: readonly LoadRequest[];
}

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Latency percentiles in milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Number of answers other than 2xx, broken connections, and missing answers. */
  readonly failed: number;
  /** Share of one core that the generator itself used. */
  readonly busy: number;
}
