import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { eventually } from '../eventually.js';
import { type Running, startScript } from '../process.js';
import { freePort, inherited, type Owner, ROOT } from '../system.js';
import { type Link, startProxies } from './proxies.js';

/** A mesh of processes in which every link passes through its own fault proxy. */
export interface LinkedMesh {
  readonly baseUrl: string;
  readonly owner: Owner;
  /** Deadline of a request in milliseconds. */
  readonly deadlineMs: number;
  /** Links, each from one process to another or to a server: `gateway to resources`, `resources to mongodb`. */
  readonly links: readonly Link[];
  readonly services: readonly string[];
  /** Returns the port on which a service itself listens. */
  portOf(service: string): number;
  /** Ends a service with SIGKILL. */
  kill(service: string): Promise<void>;
  /** Starts a service again with the same settings. */
  revive(service: string): Promise<void>;
  stop(): Promise<void>;
}

interface Server {
  readonly port: number;
}

/** The functions of `scripts` that are used here. */
interface Scripts {
  readonly SERVICES: readonly string[];
  readonly BOOTSTRAP: string;
  programOf(part: string): string;
  sharedSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  ownSettings(env: NodeJS.ProcessEnv): Readonly<Record<string, NodeJS.ProcessEnv>>;
  installTool(name: string): Promise<string>;
  startServers(): Promise<{
    readonly env: Readonly<Record<string, string>>;
    readonly servers: Readonly<Record<'mongo' | 'nats' | 's3' | 'typesense', Server>>;
    stop(): Promise<void>;
  }>;
}

/** Facts that the chart reads from the code: whom each service calls, and whether it stores records. */
interface Facts {
  readonly services: Readonly<
    Record<string, { calls: string[]; stores: boolean; settings: string[]; secrets: string[] }>
  >;
}

const START_MS = 120_000;

/**
 * Starts servers and a mesh with its other data below `home`. `settingsOf` returns additional settings of a process.
 */
export async function startLinkedMesh(
  home: string,
  deadlineMs: number,
  settingsOf: (part: string) => NodeJS.ProcessEnv = () => ({}),
): Promise<LinkedMesh> {
  const scripts = await loadScripts();
  const servers = await scripts.startServers();
  const proxies = await startProxies(await scripts.installTool('toxiproxy'));
  const running = new Map<string, { start: () => Running; process: Running }>();
  const stop = async () => {
    await Promise.all([...running.values()].map(({ process }) => process.kill()));
    await proxies.stop();
    await servers.stop();
  };
  try {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const bootstrapFile = join(home, 'bootstrap.json');
    const shared = scripts.sharedSettings({
      ...inherited(),
      ...servers.env,
      COMMONPLACE_PORT: String(port),
      COMMONPLACE_PUBLIC_URL: baseUrl,
      COMMONPLACE_DATA_DIR: join(home, 'data'),
      COMMONPLACE_BOOTSTRAP_JSON: bootstrapFile,
      COMMONPLACE_GRPC_HOST: '127.0.0.1',
      COMMONPLACE_RATE_LIMITS: 'off',
      COMMONPLACE_EMBEDDINGS: 'off',
      COMMONPLACE_REQUEST_TIMEOUT_MS: String(deadlineMs),
      COMMONPLACE_SEARCH_TIMEOUT_MS: String(deadlineMs),
    });
    const own = scripts.ownSettings(shared);
    const ports = new Map<string, number>();
    for (const name of scripts.SERVICES) ports.set(name, await freePort());
    const links: Link[] = [];
    const add = async (from: string, to: string, upstream: number) => {
      const proxy = await proxies.add(`${from} to ${to}`, upstream);
      links.push(proxy);
      return proxy.address;
    };
    for (const name of [...scripts.SERVICES, 'gateway']) {
      const ways = await waysOf(name, add, servers.servers, ports);
      const listen = { COMMONPLACE_GRPC_PORT: String(ports.get(name) ?? 0) };
      const env = { ...shared, ...own[name], ...listen, ...rewritten(servers.env, ways), ...settingsOf(name) };
      const start = () => startScript(join(ROOT, scripts.programOf(name)), env);
      running.set(name, { start, process: start() });
    }
    const direct = [...ports].map(([name, number]) => `${name}=127.0.0.1:${number}`).join(',');
    await isReady(baseUrl, running);
    await bootstrap(join(ROOT, scripts.BOOTSTRAP), {
      ...shared,
      COMMONPLACE_SERVICE_ADDRESSES: direct,
      ...settingsOf('bootstrap'),
    });
    const facts = JSON.parse(readFileSync(bootstrapFile, 'utf8')) as Record<string, string>;
    const { email = '', password = '', api_key: apiKey = '' } = facts;
    return {
      baseUrl,
      owner: { email, password, apiKey },
      deadlineMs,
      links,
      services: scripts.SERVICES,
      portOf: (service) => ports.get(service) ?? 0,
      kill: async (service) => running.get(service)?.process.kill(),
      async revive(service) {
        const entry = running.get(service);
        if (entry !== undefined) entry.process = entry.start();
      },
      stop,
    };
  } catch (error) {
    const said = [...running].map(([name, { process }]) => `${name}: ${process.stderr().slice(-1000)}`).join('\n');
    await stop();
    throw new Error(`The mesh did not start.\n${said}`, { cause: error });
  }
}

async function loadScripts(): Promise<Scripts> {
  const load = (name: string) => import(pathToFileURL(join(ROOT, 'scripts', name)).href) as Promise<Partial<Scripts>>;
  return { ...(await load('mesh.mjs')), ...(await load('servers.mjs')) } as Scripts;
}

/** Returns the proxy addresses by which a process reaches others. */
async function waysOf(
  name: string,
  add: (from: string, to: string, port: number) => Promise<string>,
  servers: Readonly<Record<'mongo' | 'nats' | 's3' | 'typesense', Server>>,
  ports: ReadonlyMap<string, number>,
): Promise<Record<string, string>> {
  const facts = (parse(readFileSync(join(ROOT, 'charts/commonplace/mesh.yaml'), 'utf8')) as Facts).services[name];
  if (facts === undefined) throw new Error(`the chart does not know ${name}`);
  const peers = [];
  for (const peer of facts.calls) peers.push(`${peer}=${await add(name, peer, ports.get(peer) ?? 0)}`);
  const ways: Record<string, string> = { COMMONPLACE_SERVICE_ADDRESSES: peers.join(',') };
  if (facts.stores) {
    ways.COMMONPLACE_MONGODB_URL = await add(name, 'mongodb', servers.mongo.port);
    ways.COMMONPLACE_NATS_URL = await add(name, 'nats', servers.nats.port);
  }
  if (facts.settings.includes('COMMONPLACE_TYPESENSE_URL')) {
    ways.COMMONPLACE_TYPESENSE_URL = await add(name, 'typesense', servers.typesense.port);
  }
  if (facts.secrets.includes('COMMONPLACE_S3_URL')) ways.COMMONPLACE_S3_URL = await add(name, 's3', servers.s3.port);
  return ways;
}

/** Returns settings in which the addresses of servers are replaced by those of the proxies. */
function rewritten(env: Readonly<Record<string, string>>, ways: Readonly<Record<string, string>>) {
  const settings: Record<string, string> = {};
  for (const [name, address] of Object.entries(ways)) {
    const url = env[name]?.replace(/127\.0\.0\.1:\d+/, address) ?? address;
    // A replica set announces the addresses of its members, and clients would then use these and bypass the proxy.
    settings[name] = name === 'COMMONPLACE_MONGODB_URL' ? url.replace(/\?.*/, '?directConnection=true') : url;
  }
  return settings;
}

async function isReady(baseUrl: string, running: ReadonlyMap<string, { process: Running }>): Promise<void> {
  const failed = [...running].map(([name, { process }]) =>
    process.exited.then((code) => {
      throw new Error(`${name} ended with ${code}`);
    }),
  );
  for (const one of failed) one.catch(() => {});
  const ready = eventually(async () => {
    const { ok } = await fetch(`${baseUrl}/health/ready`, { signal: AbortSignal.timeout(2000) });
    if (!ok) throw new Error('The gateway is not ready.');
  }, START_MS);
  await Promise.race([ready, ...failed]);
}

async function bootstrap(program: string, env: NodeJS.ProcessEnv): Promise<void> {
  const job = startScript(program, env);
  const timer = setTimeout(() => void job.kill(), START_MS);
  const code = await job.exited;
  clearTimeout(timer);
  if (code !== 0) throw new Error(`The mesh has no owner: ${job.stdout()}${job.stderr()}`);
}
