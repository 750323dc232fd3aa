/** Requests that a load generator sends repeatedly. */
export interface LoadSpec {
  /** Where to send them: the connections take them in turn. */
  readonly urls: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Requests that are divided among the connections. Each connection sends its part in turn, repeatedly. */
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
  /** Number of answers other than 2xx, of broken connections and of missing answers. */
  readonly failed: number;
  /** Fraction of one core that the generator itself used. */
  readonly busy: number;
}
