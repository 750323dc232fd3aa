import { setTimeout as sleep } from 'node:timers/promises';
import { cancelled, servedWithin } from '@commonplace/kit/deadline';
import { type AppError, asAppError } from '@commonplace/kit/errors';
import type {
  IncomingCall,
  Reply,
  ServedMethod,
  ServedMethods,
  ServiceDefinition,
  Shedding,
} from '@commonplace/kit/rpc';
import { createUtilizationMeter, factsOf } from '@commonplace/kit/rpc';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { ArrivedCall } from '../calls/arrived-call.js';
import { letCallsEnd } from './ending-connections.js';
import { fromGrpc, replyTrailer } from './metadata.js';
import { ANSWER_BYTES, serverOptions } from './options.js';
import { encodeStatus, STATUS_KEY } from './status.js';
import type { MeshTls } from './tls.js';

export interface GrpcServer {
  /** The port on which it listens. */
  readonly port: number;
  /** The port that serves only health checks, if there is one. */
  readonly healthPort: number | undefined;
  /** Sets what `grpc.health.v1` reports from now on. */
  setReady(ready: boolean): void;
  /**
   * Closes all connections once their calls have finished, and accepts new ones until clients have looked up other
   * addresses.
   */
  leave(graceMs: number): Promise<void>;
  /** Accepts no more calls, waits up to `graceMs` for running ones, and cancels the rest. */
  close(graceMs: number): Promise<void>;
}

interface GrpcServerOptions {
  readonly host: string;
  readonly port: number;
  readonly definitions: readonly ServiceDefinition[];
  readonly methods: ServedMethods;
  /** Refuses calls when the process is overloaded; without it, none is refused. */
  readonly shedding?: Shedding | undefined;
  /**
   * Requires a certificate from every peer. Health is then also served without TLS on another port, because probes have
   * no certificate.
   */
  readonly tls?: { readonly mesh: MeshTls; readonly healthPort: number } | undefined;
}

/**
 * Metadata key for the milliseconds after which a client retries; a negative value forbids retries (gRFC A6).
 */
const PUSHBACK = 'grpc-retry-pushback-ms';

/** The utilization of this process, which every answer reports while it is high. */
const utilization = createUtilizationMeter();

/** Serves methods over gRPC, together with the health service. */
export async function openGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, tls } = options;
  letCallsEnd();
  const server = new Server(serverOptions);
  for (const definition of options.definitions) server.addService(definition, implement(definition, options));
  // Supervisors that restart hanging processes probe `live`, which reports SERVING as long as the process responds.
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

/**
 * Answers probes of a process that waits for a server before it can serve: `live` is SERVING, the rest is not. Returns a
 * function that frees the port.
 */
export async function openWaitingHealth(address: string): Promise<() => Promise<void>> {
  const health = new HealthImplementation({ '': 'NOT_SERVING', live: 'SERVING' });
  const { server } = await openHealthServer(health, address);
  return () => closeServer(server, 0);
}

async function openHealthServer(health: HealthImplementation, address: string) {
  const server = new Server(serverOptions);
  health.addToServer(server);
  return { server, port: await bind(server, address, ServerCredentials.createInsecure()) };
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(listenError(error, address)),
    );
  });
}

/** Adds the fields of a Node.js listen error, which grpc-js reports only as text. */
function listenError(error: Error, address: string): Error {
  const code = /listen (E[A-Z]+)/.exec(error.message)?.[1];
  const at = address.lastIndexOf(':');
  const facts = { code, syscall: 'listen', address: address.slice(0, at), port: Number(address.slice(at + 1)) };
  return code === undefined ? error : Object.assign(error, facts);
}

/**
 * Milliseconds within which a client that resolves addresses at most once a second has resolved them and has its
 * answer.
 */
const LEAVE_MS = 1500;

/**
 * Drains connections while still accepting new ones. A client that only knows this server would have no server between
 * the end of its connection and the next address lookup, so its calls are served over a new connection during that
 * time.
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
    if (method === undefined) throw new Error(`no service implements ${path}`);
    const gate = createGate(path, options);
    implementation[name] = method.streams ? streaming(path, method, gate) : unary(method, gate);
  }
  return implementation;
}

type ServerCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** Admission check that a call passes before its handler runs. */
interface Gate {
  /** Admits a call, which counts until `leave`. Throws if the call is refused. */
  enter(call: ServerCall, incoming: IncomingCall): void;
  leave(): void;
}

function createGate(path: string, { shedding, tls }: GrpcServerOptions): Gate {
  const { load } = factsOf(path);
  return {
    enter(call, { metadata, peerToken }) {
      tls?.mesh.requirePeer(call, peerToken);
      shedding?.require(metadata.background ? 'background' : load);
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
      callback(wireError(asAppError(error), { atGate: true }));
      return;
    }
    servedWithin(incoming, () => method.unary(call.request, incoming))
      .finally(gate.leave)
      .then(
        (answer) => callback(null, answer, replyTrailer(incoming.reply, utilization())),
        (error: unknown) => callback(wireError(asAppError(error), { reply: incoming.reply })),
      );
  };
}

function streaming(path: string, method: ServedMethod, gate: Gate): handleServerStreamingCall<unknown, unknown> {
  const { watches } = factsOf(path);
  return async (call) => {
    const incoming = incomingCall(call);
    let entered = false;
    const leave = () => {
      if (entered) gate.leave();
      entered = false;
    };
    try {
      gate.enter(call, incoming);
      entered = true;
      const messages = method.stream(call.request, incoming);
      await servedWithin(incoming, () => send(call, watches ? afterFirst(messages, leave) : messages));
    } catch (error) {
      call.emit('error', wireError(asAppError(error), { atGate: !entered }));
    } finally {
      leave();
    }
  };
}

/** Calls `then` after the first message: a stream that waits for changes must not take up capacity for requests. */
async function* afterFirst(messages: AsyncIterable<unknown>, then: () => void): AsyncIterable<unknown> {
  for await (const message of messages) {
    yield message;
    then();
  }
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

/**
 * Converts an AppError to the form that grpc-js sends, with the handler's reply metadata. `atGate` is whether the call was
 * refused before its handler ran.
 */
function wireError(error: AppError, { reply = {}, atGate = false }: { reply?: Reply; atGate?: boolean }) {
  const metadata = replyTrailer(reply, utilization()) ?? new Metadata();
  // Another replica may have capacity for what this one refuses. What a handler refuses, such as for a service further
  // on, has been retried there.
  if (error.code === 'UNAVAILABLE' && !atGate) metadata.set(PUSHBACK, '-1');
  const details = encodeStatus(error);
  if (details.length < ANSWER_BYTES) metadata.set(STATUS_KEY, details);
  return { code: status[error.code], details: error.reason, metadata };
}
