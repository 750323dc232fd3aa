import {
  credentials,
  Client as GrpcClient,
  type Metadata,
  type MethodDefinition,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import type { PeerTokens } from '../auth/token.js';
import type { AppError } from '../errors/index.js';
import { observeCalled, tracedOptions } from '../telemetry/rpc.js';
import { letCallsEnd } from './ending-connections.js';
import { isGivenUp, whenGivenUp } from './given-up.js';
import { clientOptions } from './grpc-options.js';
import { isRead } from './idempotent.js';
import { readReply, toGrpc } from './metadata.js';
import type { CallOptions, Channel, Client, ServiceContract } from './port.js';
import { cancelled, refusalOf } from './refusal.js';
import { decodeStatus, ofCode, STATUS_KEY } from './status.js';
import type { MeshTls } from './tls.js';

type Method = MethodDefinition<unknown, unknown>;

/**
 * The channel to services of other processes. `addressOf` gives a service's target:
 * `dns:///resources-headless:9090`. With TLS each end shows a certificate, and the service's has to carry its name.
 */
export function openGrpcChannel(addressOf: (owner: string) => string, peers: PeerTokens, tls?: MeshTls): Channel {
  letCallsEnd();
  const opened: GrpcClient[] = [];
  const trust = tls?.client ?? credentials.createInsecure();
  return {
    client: (service) => {
      const options = {
        ...clientOptions(service.name, readMethods(service)),
        ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': tls.nameOf(service.owner) }),
      };
      const grpc = new GrpcClient(addressOf(service.owner), trust, options);
      opened.push(grpc);
      return createClient(grpc, service, peers);
    },
    close: async () => {
      for (const grpc of opened) grpc.close();
    },
  };
}

function readMethods(service: ServiceContract<unknown>): string[] {
  return Object.values(service.definition)
    .map(({ path }) => path.split('/')[2] as string)
    .filter(isRead);
}

function createClient<S>(grpc: GrpcClient, service: ServiceContract<S>, peers: PeerTokens): Client<S> {
  const client: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(service.definition)) {
    client[name] = method.responseStream
      ? (request: unknown, options: CallOptions) => stream(grpc, method, peers, request, tracedOptions(options))
      : observeCalled(method.path, (request, options) => unary(grpc, method, peers, request, options));
  }
  return client as Client<S>;
}

function unary(
  grpc: GrpcClient,
  method: Method,
  peers: PeerTokens,
  request: unknown,
  options: CallOptions,
): Promise<unknown> {
  const refusal = refusalOf(options);
  if (refusal !== undefined) return Promise.reject(refusal);
  return new Promise((resolve, reject) => {
    const { reply } = options;
    const metadata = toGrpc(options.metadata, peers.mint());
    const call = grpc.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline: options.deadline },
      (error, answer) => {
        over();
        if (error === null) resolve(answer);
        else if (reply !== undefined && error.metadata !== undefined) readReply(error.metadata, reply);
        if (error !== null) reject(isGivenUp(options) ? cancelled() : received(error));
      },
    );
    const over = whenGivenUp(options, () => call.cancel());
    if (reply !== undefined) call.on('status', (status: StatusObject) => readReply(status.metadata, reply));
  });
}

async function* stream(
  grpc: GrpcClient,
  method: Method,
  peers: PeerTokens,
  request: unknown,
  options: CallOptions,
): AsyncIterable<unknown> {
  const refusal = refusalOf(options);
  if (refusal !== undefined) throw refusal;
  const call = grpc.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
    toGrpc(options.metadata, peers.mint()),
    { deadline: options.deadline },
  );
  const abort = () => call.cancel();
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    yield* call;
  } catch (error) {
    throw options.signal?.aborted ? cancelled() : received(error as ServiceError);
  } finally {
    options.signal?.removeEventListener('abort', abort);
    call.cancel();
  }
}

function received(error: ServiceError): AppError {
  const metadata: Metadata | undefined = error.metadata;
  const [status] = metadata?.get(STATUS_KEY) ?? [];
  return Buffer.isBuffer(status) ? decodeStatus(status) : ofCode(error.code, error);
}
