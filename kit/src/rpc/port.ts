import type { ServiceDefinition } from '@grpc/grpc-js';
import type { Actor, Caller } from '../auth/caller.js';
import type { DomainEvent } from '../events/port.js';
import type { UnitOfWork } from '../store/port.js';

/** A service of the contract: its generated definition under the name of the service that owns it. */
export interface ServiceContract<S> {
  /** Who implements it: `resources`. */
  readonly owner: string;
  /** `commonplace.resources.v1.ResourceService`. */
  readonly name: string;
  readonly definition: ServiceDefinition;
  /** Type marker. */
  readonly methods?: S;
}

/** Names a generated service: `contract<ResourceService>('resources', ResourceServiceService)`. */
export function contract<S>(owner: string, definition: ServiceDefinition): ServiceContract<S> {
  const [method] = Object.values(definition);
  if (method === undefined) throw new Error(`a service of ${owner} has no methods`);
  return { owner, name: method.path.split('/')[1] as string, definition };
}

/** Facts of the request that travel with a call. Binary-safe: every value is a short ASCII or UTF-8 string. */
export interface CallMetadata {
  readonly requestId: string;
  /** The signed caller token; absent where no person is behind the call. */
  readonly token?: string | undefined;
  /** W3C trace context. */
  readonly traceparent?: string | undefined;
  /** The version that the record to be changed must still have (If-Match, `base_version`). */
  readonly baseVersion?: number | undefined;
  /** The token of a share link that the request presents (`X-Share-Link`); nothing is remembered of it. */
  readonly shareLink?: string | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Nobody waits for it: of all that is too much it is refused first. */
  readonly background?: boolean | undefined;
}

export interface Idempotency {
  /** Hash of credential, method, path and key. */
  readonly id: string;
  /** Hash of the body: another one under the same id is refused. */
  readonly fingerprint: string;
}

export interface CallOptions {
  readonly metadata: CallMetadata;
  /** Epoch milliseconds; a call without one is refused. It only ever shrinks from hop to hop. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the signal was aborted, where it is only made when somebody asks for it. */
  readonly givenUp?: boolean;
  /** Filled with what the handler said beside its answer. */
  readonly reply?: Reply;
}

/** What a handler may say beside its answer. */
export interface Reply {
  /** HTTP status of this success where it is not the method's own. */
  status?: number;
  warnings?: { code: string; message: string }[];
  /** The answer is that of an earlier request with the same Idempotency-Key: its request id. */
  replayOf?: string;
}

/** What a handler knows of the call it serves. Its methods are called on it, never taken off it. */
export interface CallContext {
  /** Throws `missing_credentials` where nobody is behind the call. */
  readonly caller: Caller;
  /** How changes made by this call are labelled. */
  readonly actor: Actor;
  readonly metadata: CallMetadata;
  readonly requestId: string;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /**
   * All that this call writes. It is committed when the handler has answered, together with its
   * events and the idempotency record; a lost race runs the handler again on a new unit.
   */
  readonly work: UnitOfWork;
  readonly reply: Reply;
  /** For calls to other services on behalf of the same caller. */
  readonly onward: CallOptions;
  /**
   * Names a field of the answer that is shown once, by its path (`form.token`): a replay leaves it out and says so.
   */
  once(field: string): void;
  /**
   * Says that what follows takes effect outside of `work`, under an id of its own, so that it has the same outcome
   * when it is done again. A replay that only asks whether the caller is still admitted ends here.
   */
  acts(): void;
  /** An event of this call, with actor, request and trace filled in. */
  event(type: string, subject: string, data: Record<string, unknown>, tenant?: string): DomainEvent;
  /** Runs after the commit has succeeded; for what must not happen when it does not. */
  afterCommit(effect: () => void): void;
}

/** One method per rpc; the second argument is the call's context. */
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

/** What a served method does for a call, after all interceptors are wrapped around the handler. */
export interface ServedMethod {
  readonly streams: boolean;
  unary(request: unknown, call: IncomingCall): Promise<unknown>;
  stream(request: unknown, call: IncomingCall): AsyncIterable<unknown>;
}

/** A call as a channel hands it over: nothing in it is believed before the interceptors have checked it. */
export interface IncomingCall {
  readonly metadata: CallMetadata;
  /** The signed token of the calling process. */
  readonly peerToken: string | undefined;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Whether the signal was aborted, where it is only made when somebody asks for it. */
  readonly givenUp?: boolean;
  readonly reply: Reply;
  /** It came from another process. */
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
 * - A call whose deadline passes rejects with `timeout`, whether the peer answers, hangs or is gone;
 *   a call without a deadline is refused.
 * - An aborted signal rejects the call and aborts the handler's signal, within a tenth of a second.
 * - Metadata arrives as it was sent; `reply` is filled before the call resolves.
 * - Streams deliver in order, stop the handler when the reader stops, and end with the handler's error.
 * - A peer that can't be reached is `service_unavailable`.
 */
export interface Channel {
  client<S>(service: ServiceContract<S>): Client<S>;
  close(): Promise<void>;
}
