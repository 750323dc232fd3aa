import type { PeerTokens } from '@commonplace/kit/auth';
import { cancelled, isCancelled, onCancelled } from '@commonplace/kit/deadline';
import type { AppError } from '@commonplace/kit/errors';
import type {
  CallOptions,
  Capacity,
  Channel,
  Client,
  MethodDefinition,
  Reply,
  ServiceContract,
} from '@commonplace/kit/rpc';
import { factsOf, observeCalled, tracedOptions } from '@commonplace/kit/rpc';
import { credentials, Client as GrpcClient, type Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { refusalOf } from '../calls/refusal.js';
import { Connecting } from './connecting.js';
import { letCallsEnd } from './ending-connections.js';
import { readReply, readUtilization, toGrpc } from './metadata.js';
import { clientOptions } from './options.js';
import { decodeStatus, ofCode, STATUS_KEY } from './status.js';
import type { MeshTls } from './tls.js';

interface GrpcChannelOptions {
  /** With TLS each side presents a certificate, and the service's certificate must contain its name. */
  readonly tls?: MeshTls | undefined;
  /** Returns the capacity for calls that wait for a service; without it, none is refused. */
  readonly capacityOf?: (owner: string) => Capacity;
}

/**
 * Opens the channel to services in other processes. `addressOf` returns a service's target:
 * `dns:///resources-headless:9090`.
 */
export function openGrpcChannel(
  addressOf: (owner: string) => string,
  peers: PeerTokens,
  { tls, capacityOf }: GrpcChannelOptions = {},
): Channel {
  letCallsEnd();
  const opened: GrpcClient[] = [];
  let utilization = 0;
  const readTrailer = (trailer: Metadata): void => {
    utilization = Math.max(utilization, readUtilization(trailer));
  };
  const trust = tls?.client ?? credentials.createInsecure();
  return {
    client: (service) => {
      const options = {
        ...clientOptions(service.name, readMethods(service)),
        ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': tls.nameOf(service.owner) }),
      };
      const grpc = new GrpcClient(addressOf(service.owner), trust, options);
      opened.push(grpc);
      const connection = { grpc, connecting: new Connecting(grpc), peers, readTrailer };
      return createClient({ ...connection, capacity: capacityOf?.(service.owner) }, service);
    },
    takeUtilization() {
      const taken = utilization;
      utilization = 0;
      return taken;
    },
    close: async () => {
      for (const grpc of opened) grpc.close();
    },
  };
}

function readMethods(service: ServiceContract<unknown>): string[] {
  return Object.values(service.definition)
    .filter(({ path }) => factsOf(path).isRead)
    .map(({ path }) => path.split('/')[2] as string);
}

/** What the clients of one service share. */
interface Connection {
  readonly grpc: GrpcClient;
  readonly connecting: Connecting;
  readonly peers: PeerTokens;
  /** Reads what a server says of itself at the end of an answer. */
  readTrailer(trailer: Metadata): void;
  readonly capacity: Capacity | undefined;
}

function createClient<S>(connection: Connection, service: ServiceContract<S>): Client<S> {
  const client: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(service.definition)) {
    client[name] = method.responseStream
      ? (request: unknown, options: CallOptions) => stream(connection, method, request, tracedOptions(options))
      : observeCalled(method.path, (request, options) => unary(connection, method, request, options));
  }
  return client as Client<S>;
}

function unary(
  connection: Connection,
  method: MethodDefinition,
  request: unknown,
  options: CallOptions,
): Promise<unknown> {
  const refusal = refusalOf(options);
  if (refusal !== undefined) return Promise.reject(refusal);
  const { load, isRead } = factsOf(method.path);
  try {
    connection.capacity?.require(options.metadata.background ? 'background' : load);
  } catch (error) {
    return Promise.reject(error);
  }
  if (connection.connecting.isConnected()) return sendNow(connection, method, request, options, isRead);
  return waitForConnection(connection, options).then(() => sendNow(connection, method, request, options, isRead));
}

function sendNow(
  connection: Connection,
  method: MethodDefinition,
  request: unknown,
  options: CallOptions,
  isRead: boolean,
): Promise<unknown> {
  const metadata = toGrpc(options.metadata, connection.peers.mint());
  return new Promise((resolve, reject) => {
    send(connection, method, request, metadata, new Waiting({ options, isRead, resolve, reject }));
  });
}

/** Waits until a call can be sent. Until then it counts as one that waits for the service, too. */
async function waitForConnection({ connecting, capacity }: Connection, options: CallOptions): Promise<void> {
  capacity?.enter();
  try {
    await connecting.wait(options.deadline);
  } finally {
    capacity?.leave();
  }
  if (isCancelled(options)) throw cancelled();
}

/** Sends a call. It is a separate function, so that grpc-js's call object retains nothing but `waiting`. */
function send(
  { grpc, readTrailer, capacity }: Connection,
  method: MethodDefinition,
  request: unknown,
  metadata: Metadata,
  waiting: Waiting,
): void {
  capacity?.enter();
  const call = grpc.makeUnaryRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
    metadata,
    { deadline: waiting.deadline },
    (error, answer) => {
      capacity?.leave();
      waiting.settle(error, answer);
    },
  );
  call.on('status', ({ metadata: trailer }: StatusObject) => {
    readTrailer(trailer);
    waiting.readTrailer(trailer);
  });
  waiting.until(() => call.cancel());
}

/** A call, and what its answer settles. */
interface Waits {
  readonly options: CallOptions;
  readonly isRead: boolean;
  resolve(answer: unknown): void;
  reject(error: AppError): void;
}

/**
 * State of a call that waits for its answer; it is released completely with the answer. The call objects of grpc-js and
 * Node.js survive until a major garbage collection under load, and would otherwise retain the whole request that made
 * the call.
 */
class Waiting {
  readonly deadline: number;
  readonly #reply: Reply | undefined;
  #waits: Waits | undefined;
  #over: (() => void) | undefined;

  constructor(waits: Waits) {
    this.deadline = waits.options.deadline;
    this.#reply = waits.options.reply;
    this.#waits = waits;
  }

  /** Cancels the call with `cancel` when its caller cancels. */
  until(cancel: () => void): void {
    if (this.#waits !== undefined) this.#over = onCancelled(this.#waits.options, cancel);
  }

  readTrailer(metadata: Metadata): void {
    if (this.#reply !== undefined) readReply(metadata, this.#reply);
  }

  settle(error: ServiceError | null, answer: unknown): void {
    const waits = this.#waits;
    if (waits === undefined) return;
    this.#waits = undefined;
    this.#over?.();
    this.#over = undefined;
    if (error?.metadata !== undefined) this.readTrailer(error.metadata);
    if (error === null) waits.resolve(answer);
    else waits.reject(isCancelled(waits.options) ? cancelled() : received(error, waits));
  }
}

async function* stream(
  { grpc, connecting, peers }: Connection,
  method: MethodDefinition,
  request: unknown,
  options: CallOptions,
): AsyncIterable<unknown> {
  const refusal = refusalOf(options);
  if (refusal !== undefined) throw refusal;
  if (!connecting.isConnected()) {
    await connecting.wait(options.deadline);
    if (options.signal?.aborted) throw cancelled();
  }
  const call = grpc.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
    toGrpc(options.metadata, peers.mint()),
    { deadline: options.deadline },
  );
  // Cancelling emits an error event, even after the reader has stopped listening; unhandled, it would end the process.
  call.on('error', () => {});
  const abort = () => call.cancel();
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    yield* call;
  } catch (error) {
    throw options.signal?.aborted ? cancelled() : received(error as ServiceError, factsOf(method.path));
  } finally {
    options.signal?.removeEventListener('abort', abort);
    call.cancel();
  }
}

function received(error: ServiceError, call: { readonly isRead: boolean }): AppError {
  const metadata: Metadata | undefined = error.metadata;
  const [status] = metadata?.get(STATUS_KEY) ?? [];
  return Buffer.isBuffer(status) ? decodeStatus(status) : ofCode(error.code, error, call);
}
