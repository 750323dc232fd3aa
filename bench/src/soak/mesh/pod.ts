import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { credentials, Client as GrpcClient } from '@grpc/grpc-js';
import { endWithMe } from './orphans.js';

/** A process of the mesh with its own address, like a pod. */
export interface Pod {
  readonly name: string;
  readonly address: string;
  readonly pid: number;
  hasEnded(): boolean;
  /**
   * Sends SIGTERM. Returns the milliseconds that the process took to end. Throws if it fails or does not end within 25
   * s.
   */
  drain(): Promise<number>;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
}

interface PodOptions {
  readonly name: string;
  /** Path of the program below the project's root. */
  readonly program: string;
  readonly address: string;
  readonly env: NodeJS.ProcessEnv;
  /** File to which output is appended. */
  readonly log: string;
  /** Returns whether the process can accept calls. */
  isReady(): Promise<boolean>;
}

/** Timeout in milliseconds until a new process is ready. On a busy machine, seven start at the same time. */
const START_MS = 120_000;
/** Milliseconds within which a process must end after SIGTERM. */
const DRAIN_MS = 25_000;

/** Starts a process and waits until it is ready. */
export async function startPod({ name, program, address, env, log, isReady }: PodOptions): Promise<Pod> {
  const output = openSync(log, 'a');
  const child = spawn(process.execPath, [join(ROOT, program)], { env, cwd: ROOT, stdio: ['ignore', output, output] });
  closeSync(output);
  const orphan = () => child.kill('SIGKILL');
  const spare = endWithMe(orphan);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  void exited.then(spare);
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded(child)) child.kill(signal);
    await exited;
  };
  const until = performance.now() + START_MS;
  while (!(await isReady())) {
    if (!hasEnded(child) && performance.now() < until) {
      await sleep(50);
      continue;
    }
    await end('SIGKILL');
    throw new Error(`${name} does not become ready.\n${readFileSync(log, 'utf8').slice(-4000)}`);
  }
  return {
    name,
    address,
    pid: child.pid ?? 0,
    hasEnded: () => hasEnded(child),
    kill: () => end('SIGKILL'),
    async drain() {
      const started = performance.now();
      const timer = setTimeout(orphan, DRAIN_MS + 1000);
      await end('SIGTERM');
      clearTimeout(timer);
      const took = performance.now() - started;
      if (child.exitCode !== 0 || took > DRAIN_MS) {
        throw new Error(`${name} ends with ${child.exitCode ?? child.signalCode} after ${Math.round(took)} ms`);
      }
      return took;
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

const HEALTH = '/grpc.health.v1.Health/Check';
/** An encoded `HealthCheckResponse` with the status `SERVING`. */
const SERVING = Buffer.from([0x08, 0x01]);
const PROBE_MS = 1000;

/** Calls the health service of a gRPC server, like a readiness probe. Returns whether it is ready. */
export async function servesGrpc(target: string): Promise<boolean> {
  const client = new GrpcClient(target, credentials.createInsecure());
  const none = () => Buffer.alloc(0);
  try {
    return await new Promise((resolve) => {
      const done = (error: unknown, answer?: Buffer) => resolve(error === null && answer?.equals(SERVING) === true);
      client.makeUnaryRequest(HEALTH, none, (bytes: Buffer) => bytes, {}, { deadline: Date.now() + PROBE_MS }, done);
    });
  } finally {
    client.close();
  }
}

/** Returns whether a gateway is ready. */
export function servesHttp(baseUrl: string): Promise<boolean> {
  return fetch(`${baseUrl}/health/ready`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
