import { setTimeout as sleep } from 'node:timers/promises';
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
import { servedWithin } from '../deadline/index.js';
import { type AppError, asAppError } from '../errors/index.js';
import { ArrivedCall } from './arrived-call.js';
import { letCallsEnd } from './ending-connections.js';
import { GRPC_MESSAGE_BYTES, serverOptions } from './grpc-options.js';
import { loadOf } from './idempotent.js';
import { fromGrpc, replyTrailer } from './metadata.js';
import type { IncomingCall, Reply, ServedMethod, ServedMethods } from './port.js';
import { cancelled } from './refusal.js';
import type { Shedding } from './shedding.js';
import { encodeStatus, STATUS_KEY } from './status.js';
import type { MeshTls } from './tls.js';

export interface GrpcServer {
  /** The port that it listens on. */
  readonly port: number;
  /** The port of health alone, where there is one. */
  readonly healthPort: number | undefined;
  /** What `grpc.health.v1` answers from now on. */
  setReady(ready: boolean): void;
  /** Ends all connections, without their calls, and takes new ones still, until clients have looked for other addresses. */
  leave(graceMs: number): Promise<void>;
  /** Takes no more calls, waits for those that run at most so long, ends the rest. */
  close(graceMs: number): Promise<void>;
}

export interface GrpcServerOptions {
  readonly host: string;
  readonly port: number;
  readonly definitions: readonly ServiceDefinition[];
  readonly methods: ServedMethods;
  /** Refuses what there is no room for; absent: nothing. */
  readonly shedding?: Shedding | undefined;
  /** Asks every peer for its certificate. Health is told without on another port then: probes have none. */
  readonly tls?: { readonly mesh: MeshTls; readonly healthPort: number } | undefined;
}

/** Tells a client after how many milliseconds to try again; below 0: not at all (gRFC A6). */
const PUSHBACK = 'grpc-retry-pushback-ms';

/** Serves methods over gRPC, with the health service beside them. */
export async function openGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, tls } = options;
  letCallsEnd();
  const server = new Server(serverOptions);
  for (const definition of options.definitions) server.addService(definition, implement(definition, options));
  // `live` is asked by those who restart what hangs: it answers as long as the process does.
  const health = new HealthImplementation({ '': 'NOT_SERVING', live: 'SERVING' });
  health.addToServer(server);
  const port = await bind(server, `${host}:${options.port}`, tls?.mesh.server ?? ServerCredentials.createInsecure());
  const probed = tls === undefined ? undefined : await openHealthServer(health, `${host}:${tls.healthPort}`);
  return {
    port,
    healthPort: probed?.port,
    setReady: (ready) => health.setStatus('', ready ? 'SERVING' : 'NOT_SERVING'),
    leave: (graceMs) => leave(server, `${host}:${port}`, graceMs),
    close: async (graceMs) => {
      await closeServer(server, graceMs);
      probed?.server.forceShutdown();
    },
  };
}

async function openHealthServer(health: HealthImplementation, address: string) {
  const server = new Server(serverOptions);
  health.addToServer(server);
  return { server, port: await bind(server, address, ServerCredentials.createInsecure()) };
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
}

/** Milliseconds in which a client that looks for addresses at most each second has looked, and had its answer. */
const LEAVE_MS = 1500;

/**
 * A client that only knows of this server would find nobody between its connection's end and the answer to where others
 * are, so its calls are served over a new connection for as long as that takes.
 */
async function leave(server: Server, address: string, graceMs: number): Promise<void> {
  server.drain(address, graceMs);
  await sleep(LEAVE_MS);
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

function implement(definition: ServiceDefinition, options: GrpcServerOptions): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [name, { path }] of Object.entries(definition)) {
    const method = options.methods.get(path);
    if (method === undefined) throw new Error(`nobody serves ${path}`);
    const gate = createGate(path, options);
    implementation[name] = method.streams ? streaming(method, gate) : unary(method, gate);
  }
  return implementation;
}

type ServerCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** What a call passes before its handler is asked. */
interface Gate {
  /** Throws where the call is not let in; else it is in until `leave`. */
  enter(call: ServerCall, incoming: IncomingCall): void;
  leave(): void;
}

function createGate(path: string, { shedding, tls }: GrpcServerOptions): Gate {
  const usual = loadOf(path, false);
  return {
    enter(call, { metadata, peerToken }) {
      tls?.mesh.requirePeer(call, peerToken);
      shedding?.require(metadata.background ? 'background' : usual);
      shedding?.enter();
    },
    leave: () => shedding?.leave(),
  };
}

function unary(method: ServedMethod, gate: Gate): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const incoming = incomingCall(call);
    try {
      gate.enter(call, incoming);
    } catch (error) {
      callback(wireError(asAppError(error)));
      return;
    }
    servedWithin(incoming, () => method.unary(call.request, incoming))
      .finally(gate.leave)
      .then(
        (answer) => callback(null, answer, replyTrailer(incoming.reply)),
        (error: unknown) => callback(wireError(asAppError(error), incoming.reply)),
      );
  };
}

function streaming(method: ServedMethod, gate: Gate): handleServerStreamingCall<unknown, unknown> {
  return async (call) => {
    const incoming = incomingCall(call);
    let entered = false;
    try {
      gate.enter(call, incoming);
      entered = true;
      await servedWithin(incoming, () => send(call, method.stream(call.request, incoming)));
    } catch (error) {
      call.emit('error', wireError(asAppError(error)));
    } finally {
      if (entered) gate.leave();
    }
  };
}

async function send(call: ServerWritableStream<unknown, unknown>, messages: AsyncIterable<unknown>): Promise<void> {
  for await (const message of messages) {
    if (call.cancelled) return;
    if (!call.write(message)) await drained(call);
  }
  call.end();
}

function drained(call: ServerWritableStream<unknown, unknown>): Promise<void> {
  return new Promise((resolve) => {
    call.once('drain', resolve);
    call.once('cancelled', resolve);
  });
}

function incomingCall(call: ServerCall): ArrivedCall {
  const { call: metadata, peerToken } = fromGrpc(call.metadata);
  const incoming = new ArrivedCall({ metadata, deadline: Number(call.getDeadline()) }, peerToken, true);
  call.on('cancelled', () => incoming.abort(cancelled));
  return incoming;
}

/** An AppError in the form that grpc-js sends, with what the handler said beside it. */
function wireError(error: AppError, reply: Reply = {}) {
  const metadata = replyTrailer(reply) ?? new Metadata();
  // Whoever answers is there: what it could not do is not asked of it again by the channel.
  if (error.code === 'UNAVAILABLE') metadata.set(PUSHBACK, '-1');
  const details = encodeStatus(error);
  if (details.length < GRPC_MESSAGE_BYTES) metadata.set(STATUS_KEY, details);
  return { code: status[error.code], details: error.reason, metadata };
}
