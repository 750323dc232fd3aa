import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { AppError, asAppError } from '../errors/index.js';
import { GRPC_MESSAGE_BYTES, serverOptions } from './grpc-options.js';
import { fromGrpc, replyTrailer } from './metadata.js';
import type { IncomingCall, Reply, ServedMethod, ServedMethods } from './port.js';
import { encodeStatus, STATUS_KEY } from './status.js';

export interface GrpcServer {
  /** The port that it listens on. */
  readonly port: number;
  /** What `grpc.health.v1` answers from now on. */
  setReady(ready: boolean): void;
  /** Takes no more calls, waits for those that run at most so long, ends the rest. */
  close(graceMs: number): Promise<void>;
}

export interface GrpcServerOptions {
  readonly host: string;
  readonly port: number;
  readonly definitions: readonly ServiceDefinition[];
  readonly methods: ServedMethods;
}

/** Serves methods over gRPC, with the health service beside them. */
export async function openGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const server = new Server(serverOptions);
  for (const definition of options.definitions) server.addService(definition, implement(definition, options.methods));
  // `live` is asked by those who restart what hangs: it answers as long as the process does.
  const health = new HealthImplementation({ '': 'NOT_SERVING', live: 'SERVING' });
  health.addToServer(server);
  const address = `${options.host}:${options.port}`;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    setReady: (ready) => health.setStatus('', ready ? 'SERVING' : 'NOT_SERVING'),
    close: (graceMs) => closeServer(server, graceMs),
  };
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}

function implement(definition: ServiceDefinition, methods: ServedMethods): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [name, { path }] of Object.entries(definition)) {
    const method = methods.get(path);
    if (method === undefined) throw new Error(`nobody serves ${path}`);
    implementation[name] = method.streams ? streaming(method) : unary(method);
  }
  return implementation;
}

function unary(method: ServedMethod): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const incoming = incomingCall(call);
    method.unary(call.request, incoming).then(
      (answer) => callback(null, answer, replyTrailer(incoming.reply)),
      (error: unknown) => callback(wireError(asAppError(error), incoming.reply)),
    );
  };
}

function streaming(method: ServedMethod): handleServerStreamingCall<unknown, unknown> {
  return async (call) => {
    try {
      for await (const message of method.stream(call.request, incomingCall(call))) {
        if (call.cancelled) return;
        if (!call.write(message)) await drained(call);
      }
      call.end();
    } catch (error) {
      call.emit('error', wireError(asAppError(error)));
    }
  };
}

function drained(call: ServerWritableStream<unknown, unknown>): Promise<void> {
  return new Promise((resolve) => {
    call.once('drain', resolve);
    call.once('cancelled', resolve);
  });
}

function incomingCall(call: ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>): IncomingCall {
  const { call: metadata, peerToken } = fromGrpc(call.metadata);
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort(new AppError('CANCELLED', 'timeout', 'The caller did not wait.')));
  const deadline = call.getDeadline();
  const reply: Reply = {};
  return { metadata, peerToken, deadline: Number(deadline), signal: controller.signal, reply };
}

/** An AppError in the form that grpc-js sends, with what the handler said beside it. */
function wireError(error: AppError, reply: Reply = {}) {
  const metadata = replyTrailer(reply) ?? new Metadata();
  const details = encodeStatus(error);
  if (details.length < GRPC_MESSAGE_BYTES) metadata.set(STATUS_KEY, details);
  return { code: status[error.code], details: error.reason, metadata };
}
