import type { ParsedRequest } from '../request/reading.js';

/** Everything that a thread needs to read one request, as plain values. */
export interface ReadTask {
  /** Method of the route. Below, its path in the contract; together they identify it. */
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  readonly contentType: string | undefined;
  /** Values that the gateway fills in itself, by their names in the contract. */
  readonly facts: Readonly<Record<string, string>>;
  /** The query as it was sent, if the request has an idempotency key, whose fingerprint covers body and query. */
  readonly hashedWith: string | undefined;
}

export interface ReadRequest {
  readonly request: ParsedRequest;
  /** The hash of body and query; undefined if the request has no idempotency key. */
  readonly fingerprint: string | undefined;
}
