import type { Actor, Caller } from '../auth/caller.js';
import type { DomainEvent } from '../events/port.js';
import type { UnitOfWork } from '../store/port.js';

/** A method of a generated service definition. Channels to other processes convert its messages to bytes and back. */
export interface MethodDefinition {
  /** Full path: `/commonplace.resources.v1.ResourceService/GetResource`. */
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(request: unknown): Buffer;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(response: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

/** The methods of a service by the names that clients call them by: `getResource`. */
export type ServiceDefinition = Readonly<Record<string, MethodDefinition>>;

/** A service of the contract: its generated definition and the name of the service that owns it. */
export interface ServiceContract<S> {
  /** Name of the service that implements it: `resources`. */
  readonly owner: string;
  /** Full name: `commonplace.resources.v1.ResourceService`. */
  readonly name: string;
  readonly definition: ServiceDefinition;
  /** Type marker. */
  readonly methods?: S;
}

/** The methods of a generated definition as its service has them: `getResource(request): Promise<Resource>`. */
type MethodsOf<D extends ServiceDefinition> = {
  [M in keyof D]: D[M]['responseStream'] extends true
    ? (request: ReturnType<D[M]['requestDeserialize']>) => AsyncIterable<ReturnType<D[M]['responseDeserialize']>>
    : (request: ReturnType<D[M]['requestDeserialize']>) => Promise<ReturnType<D[M]['responseDeserialize']>>;
};

/** Wraps a generated service definition: `contract('resources', ResourceServiceService)`. */
export function contract<D extends ServiceDefinition>(owner: string, definition: D): ServiceContract<MethodsOf<D>> {
  const [method] = Object.values<MethodDefinition>(definition);
  if (method === undefined) throw new Error(`a service of ${owner} has no methods`);
  return { owner, name: method.path.split('/')[1] as string, definition };
}

/** Request data that is passed along with a call. Every value is a short ASCII or UTF-8 string. */
export interface CallMetadata {
  readonly requestId: string;
  /** The signed caller token; absent if no person is behind the call. */
  readonly token?: string | undefined;
  /** W3C trace context. */
  readonly traceparent?: string | undefined;
  /** Version that the record to be changed must still have (If-Match, `base_version`). */
  readonly baseVersion?: number | undefined;
  /** The share link token of the request (`X-Share-Link`); it is never stored. */
  readonly shareLink?: string | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Whether no client waits for the call, so that it is refused first under overload. */
  readonly background?: boolean | undefined;
}

export interface Idempotency {
  /** Hash of credential, method, path and key. */
  readonly id: string;
  /** Hash of the body; a different body under the same id is refused. */
  readonly fingerprint: string;
}

export interface CallOptions {
  readonly metadata: CallMetadata;
  /** Deadline in milliseconds since 1970; a call without one is refused. It can only get earlier from hop to hop. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the signal was aborted. Present if the signal is created on demand. */
  readonly isCancelled?: boolean;
  /** Receives the handler's reply metadata. */
  readonly reply?: Reply;
}

/** Metadata that a handler may add to its answer. */
export interface Reply {
  /** HTTP status of this success if it differs from the method's default. */
  status?: number;
  /** Seconds after which a polling client should poll again. */
  retryAfter?: number;
  warnings?: { code: string; message: string; details?: Record<string, unknown> }[];
  /** Request id of the earlier request with the same Idempotency-Key whose answer this is. */
  replayOf?: string;
}

/** A handler's view of the call that it serves. Its methods must be called on the object, not destructured. */
export interface CallContext {
  /** The caller. Reading it throws `missing_credentials` if the call has none. */
  readonly caller: Caller;
  /** The actor to record for changes made by this call. */
  readonly actor: Actor;
  readonly metadata: CallMetadata;
  readonly requestId: string;
  /**
   * An id of this call alone, the same in each run of the handler: ids derived from it let a run that follows a lost race
   * find what an earlier one has created in other services.
   */
  readonly callId: string;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /**
   * The unit of work for all writes of this call. It is committed after the handler has returned, together with its
   * events and the idempotency record; after a lost race the handler runs again on a new unit. A stream is committed
   * once, before its reader sees its end; a lost race ends it with `service_unavailable`. A stream that ends with an
   * error, or whose reader stops, commits nothing.
   */
  readonly work: UnitOfWork;
  readonly reply: Reply;
  /** Options for calls to other services on behalf of the same caller. */
  readonly onward: CallOptions;
  /**
   * Declares by its path (`form.token`) that a field of the answer is shown only once: a replay omits it and adds a
   * warning.
   */
  once(field: string): void;
  /**
   * Declares that the following code has an effect outside of `work`, under an id of its own, so that repeating it has
   * the same outcome. A replay that only checks whether the caller is still admitted ends here.
   */
  acts(): void;
  /** Creates an event of this call, with actor, request and trace filled in. */
  event(type: string, subject: string, data: Record<string, unknown>, tenant?: string): DomainEvent;
  /** Registers an effect that runs only after the commit has succeeded. */
  afterCommit(effect: () => void): void;
  /**
   * Waits for earlier calls of this process that write to the same record, so that this call reads the record after
   * them and does not lose a race. Call it before reading the record; the turn lasts until the call ends. It only makes
   * lost races rarer on records that many calls write to: another process may still win the race.
   */
  inTurn(collection: string, id: string): Promise<void>;
  /**
   * Registers a function that creates the answer after the commit, in place of the answer that the handler returns. A
   * replay returns the handler's answer.
   */
  answerAfterCommit(make: () => Promise<unknown>): void;
}

/** Handlers of a service, one function for each rpc; the second argument is the call's context. */
export type Handlers<S> = {
  [M in keyof S]: S[M] extends (request: infer Q) => Promise<infer R>
    ? (request: Q, context: CallContext) => Promise<R>
    : S[M] extends (request: infer Q) => AsyncIterable<infer R>
      ? (request: Q, context: CallContext) => AsyncIterable<R>
      : never;
};

/** The same methods as a client calls them. */
export type Client<S> = {
  [M in keyof S]: S[M] extends (request: infer Q) => Promise<infer R>
    ? (request: Q, options: CallOptions) => Promise<R>
    : S[M] extends (request: infer Q) => AsyncIterable<infer R>
      ? (request: Q, options: CallOptions) => AsyncIterable<R>
      : never;
};

/** A served method with all interceptors wrapped around the handler. */
export interface ServedMethod {
  readonly streams: boolean;
  unary(request: unknown, call: IncomingCall): Promise<unknown>;
  stream(request: unknown, call: IncomingCall): AsyncIterable<unknown>;
}

/** A call as a channel delivers it: nothing in it may be trusted before the interceptors have checked it. */
export interface IncomingCall {
  readonly metadata: CallMetadata;
  /** The signed token of the calling process. */
  readonly peerToken: string | undefined;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Whether the signal was aborted. Present if the signal is created on demand. */
  readonly isCancelled?: boolean;
  readonly reply: Reply;
  /** Whether the call came from another process. */
  readonly remote?: boolean;
}

/** The methods that a process serves, by full path: `/commonplace.resources.v1.ResourceService/GetResource`. */
export type ServedMethods = ReadonlyMap<string, ServedMethod>;

/**
 * Carries calls to a service.
 *
 * Duties of an adapter:
 * - Errors arrive as the AppError that was thrown: code, reason, message, param, details, faults.
 * - Anything else that was thrown arrives as `internal_error` without its message.
 * - A call whose deadline passes rejects with `timeout`, whether the peer answers, hangs or is gone; a call without a
 *   deadline is refused.
 * - An aborted signal rejects the call and aborts the handler's signal, within a tenth of a second.
 * - Metadata arrives as it was sent; `reply` is filled before the call resolves.
 * - Streams deliver in order, stop the handler when the reader stops, and end with the handler's error.
 * - If a peer cannot be reached, the call rejects with `service_unavailable`.
 */
export interface Channel {
  client<S>(service: ServiceContract<S>): Client<S>;
  /**
   * Returns the highest utilization of an event loop, from 0 to 1, that answers of other processes have reported since
   * the last call; 0 if none has.
   */
  takeUtilization(): number;
  close(): Promise<void>;
}
