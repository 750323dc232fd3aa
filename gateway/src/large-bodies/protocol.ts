import type { ParsedRequest } from '../request/reading.js';

/** All that a thread needs to read one request, as plain values. */
export interface ReadTask {
  /** Method and, below, path in the contract, which identify the route. */
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  readonly contentType: string | undefined;
  /** Values that the gateway fills in itself, by their names in the contract. */
  readonly facts: Readonly<Record<string, string>>;
  /** The query as it was sent, if the request has an idempotency key: body and query are then hashed together. */
  readonly hashedWith: string | undefined;
}

/** A request that has been read. */
export interface ReadRequest {
  readonly request: ParsedRequest;
  /** The hash of body and query; undefined if the request has no idempotency key. */
  readonly fingerprint: string | undefined;
}
