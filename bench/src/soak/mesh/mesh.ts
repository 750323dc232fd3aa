import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import type { Owner } from '@commonplace/acceptance/dist/src/system.js';
import { freePort, inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { type Balancer, createBalancer } from './balancer.js';
import { openNames } from './names.js';
import { type Pod, servesGrpc, servesHttp, startPod } from './pod.js';
import { type Servers, startServers } from './servers.js';

/**
 * The gateway and all services as processes that find each other by the names of headless services, as in Kubernetes.
 */
export interface Mesh {
  readonly servers: Servers;
  /** The chat model for runs. */
  readonly model: ChatServer;
  /** Names of all services with endpoints, and of the gateway. */
  readonly parts: readonly string[];
  /** The owner's key, with every scope. */
  readonly apiKey: string;
  /** The person who owns the key. */
  readonly owner: Pick<Owner, 'email' | 'password'>;
  /** Distributes requests over the ready gateways. */
  readonly balancer: Balancer;
  /** Returns the URL of a ready gateway. */
  baseUrl(): string;
  /** Returns the URLs of all ready gateways. */
  baseUrls(): string[];
  /** Returns the processes that ended by themselves. */
  ended(): string[];
  /** Returns the log lines of an event. */
  said(event: string): string[];
  /** Starts another process of a part. Resolves when it is ready and its address is published. */
  add(part: string): Promise<Pod>;
  pods(part: string): readonly Pod[];
  /**
   * Removes the address of a process from its name, and drains the process a moment later. Returns the milliseconds
   * that the process took to end.
   */
  retire(pod: Pod): Promise<number>;
  /** Sends SIGKILL to a process, and removes its address from its name a moment later. */
  kill(pod: Pod): Promise<void>;
  stop(): Promise<void>;
}

/** The functions of `scripts/mesh.mjs` that are used here. */
interface Script {
  readonly SERVICES: readonly string[];
  readonly BOOTSTRAP: string;
  programOf(part: string): string;
  sharedSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  ownSettings(env: NodeJS.ProcessEnv): Readonly<Record<string, NodeJS.ProcessEnv>>;
}

/** Milliseconds between removing a pod's address and its signal. The chart's `preStop` waits 5,000 ms. */
const PRE_STOP_MS = 1000;
const BOOTSTRAP_MS = 60_000 * PATIENCE;

/** Starts servers and a mesh with one process of each part. Logs and secrets are below `home`. */
export async function startMesh(home: string): Promise<Mesh> {
  mkdirSync(join(home, 'logs'), { recursive: true });
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/mesh.mjs')).href)) as Script;
  const servers = await startServers();
  const names = await openNames();
  const model = await openChatServer();
  const balancer = createBalancer();
  const port = await freePort();
  const facts = join(home, 'bootstrap.json');
  const shared = {
    ...script.sharedSettings({
      ...inherited(),
      ...servers.env,
      COMMONPLACE_DATA_DIR: join(home, 'data'),
      COMMONPLACE_BOOTSTRAP_JSON: facts,
      COMMONPLACE_RATE_LIMITS: 'off',
      COMMONPLACE_EMBEDDINGS: 'off',
      COMMONPLACE_SIGN_UP: 'open',
      COMMONPLACE_CHAT_MODEL_URL: model.url,
      COMMONPLACE_CHAT_MODELS: 'scripted',
      COMMONPLACE_RUN_WORKERS: '64',
      COMMONPLACE_RUNS_RUNNING: '200',
      COMMONPLACE_RUNS_PER_AGENT: '200',
    }),
    COMMONPLACE_SERVICE_ADDRESS: `dns://${names.address}/{service}.mesh:${port}`,
    COMMONPLACE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    // This makes grpc-js ask the name server in the address instead of the machine's.
    GRPC_NODE_USE_ALTERNATIVE_RESOLVER: 'true',
  };
  const own = script.ownSettings(shared);
  const parts = [...script.SERVICES, 'gateway'];
  const running = new Map<string, Pod[]>(parts.map((part) => [part, []]));
  const podsOf = (part: string) => running.get(part) ?? [];
  const addresses = addressesOf(process.pid);

  const publish = (part: string) => {
    const all = podsOf(part).map(({ address }) => address);
    if (part === 'gateway') balancer.set(all.map((address) => `http://${address}:${port}`));
    else names.set(`${part}.mesh`, all);
  };
  const add = async (part: string) => {
    const address = addresses.next().value as string;
    const listen =
      part === 'gateway'
        ? { COMMONPLACE_HOST: address, COMMONPLACE_PORT: String(port) }
        : { COMMONPLACE_GRPC_HOST: address, COMMONPLACE_GRPC_PORT: String(port) };
    const pod = await startPod({
      name: part,
      program: script.programOf(part),
      address,
      env: { ...shared, ...own[part], ...listen },
      log: join(home, 'logs', `${part}-${address}.log`),
      isReady: () => (part === 'gateway' ? servesHttp(`http://${address}:${port}`) : servesGrpc(`${address}:${port}`)),
    });
    podsOf(part).push(pod);
    publish(part);
    return pod;
  };
  const forget = (pod: Pod) => {
    running.set(
      pod.name,
      podsOf(pod.name).filter((one) => one !== pod),
    );
    publish(pod.name);
  };
  const stop = async () => {
    await Promise.all([...running.values()].flat().map((pod) => pod.kill()));
    balancer.close();
    await model.close();
    await names.close();
    await servers.stop();
  };
  try {
    await Promise.all(script.SERVICES.map(add));
    await add('gateway');
    await bootstrap(join(ROOT, script.BOOTSTRAP), shared);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    servers,
    model,
    parts,
    apiKey: (JSON.parse(readFileSync(facts, 'utf8')) as { api_key: string }).api_key,
    owner: JSON.parse(readFileSync(facts, 'utf8')) as Owner,
    balancer,
    add,
    pods: podsOf,
    baseUrl: () => `http://${podsOf('gateway')[0]?.address}:${port}`,
    baseUrls: () => podsOf('gateway').map(({ address }) => `http://${address}:${port}`),
    ended: () => [...running.values()].flat().flatMap((pod) => (pod.hasEnded() ? [pod.name] : [])),
    said: (event) => linesAbout(join(home, 'logs'), event),
    async retire(pod) {
      forget(pod);
      await sleep(PRE_STOP_MS);
      return pod.drain();
    },
    async kill(pod) {
      await pod.kill();
      forget(pod);
    },
    stop,
  };
}

function linesAbout(folder: string, event: string): string[] {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  return lines.filter((line) => line.includes(`"event":"${event}"`));
}

/** Yields loopback addresses. Each process that starts a mesh gets different ones. */
function* addressesOf(pid: number): Generator<string> {
  const net = `127.${1 + (pid % 250)}`;
  for (let i = 0; ; i++) yield `${net}.${Math.floor(i / 250) % 250}.${1 + (i % 250)}`;
}

async function bootstrap(program: string, env: NodeJS.ProcessEnv): Promise<void> {
  const running = startScript(program, env);
  const timer = setTimeout(() => void running.kill(), BOOTSTRAP_MS);
  const code = await running.exited;
  clearTimeout(timer);
  if (code !== 0) throw new Error(`The mesh has no owner: ${running.stdout()}${running.stderr()}`);
}
