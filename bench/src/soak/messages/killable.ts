import { randomInt } from 'node:crypto';
import { type StartOptions, startSystem } from '../../system.js';
import { startMesh } from '../mesh/mesh.js';
import type { Pod } from '../mesh/pod.js';

/** A system whose processes are killed while clients use it. */
export interface Killable {
  readonly name: string;
  /** The owner's key, with every scope. */
  readonly apiKey: string;
  /** Returns the URL of a gateway that was ready a moment ago. Each request has to call it again. */
  baseUrl(): string;
  /** Sends SIGKILL to a process and starts another one in its place. Returns the name of the process's part. */
  kill(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts an embedded system, which is a single process. */
export async function startEmbedded(home: string): Promise<Killable> {
  const settings = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_SAMPLE: '0' };
  let system = await startSystem({ home, settings });
  const again: StartOptions = { home, settings, port: Number(new URL(system.baseUrl).port) };
  return {
    name: 'embedded',
    apiKey: system.apiKey,
    baseUrl: () => system.baseUrl,
    async kill() {
      await system.kill();
      system = await startSystem(again);
      return 'the process';
    },
    stop: () => system.stop(),
  };
}

/** Parts of the mesh with several processes, which are killed in turn. */
const REPLICATED = ['messaging', 'gateway'] as const;
const REPLICAS = 2;

/** Starts a mesh with several gateways and several processes of messaging. */
export async function startReplicas(home: string): Promise<Killable> {
  const mesh = await startMesh(home);
  for (const part of REPLICATED) while (mesh.pods(part).length < REPLICAS) await mesh.add(part);
  let kills = 0;
  return {
    name: 'mesh',
    apiKey: mesh.apiKey,
    baseUrl: () => pick(mesh.baseUrls()),
    async kill() {
      const part = REPLICATED[kills++ % REPLICATED.length] as string;
      await mesh.kill(pick<Pod>(mesh.pods(part)));
      await mesh.add(part);
      return part;
    },
    stop: () => mesh.stop(),
  };
}

function pick<T>(all: readonly T[]): T {
  const one = all[randomInt(Math.max(all.length, 1))];
  if (one === undefined) throw new Error('There is no process to choose from.');
  return one;
}
