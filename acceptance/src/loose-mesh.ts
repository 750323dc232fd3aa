import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Running, startScript } from './process.js';
import { freePort, inherited, ROOT } from './system.js';

interface Server {
  stop(): Promise<unknown>;
}

interface ServersScript {
  installTool(name: string): Promise<string>;
  startMongo(program: string, data: string, port: number): Promise<Server>;
  startNats(program: string, data: string, port: number): Promise<Server>;
}

interface MeshScript {
  readonly SERVICES: readonly string[];
  readonly BOOTSTRAP: string;
  programOf(name: string): string;
}

/** A mesh whose processes and servers a test starts one by one in any order, each time on the same ports and data. */
export interface LooseMesh {
  /** Names of everything that can be started: the servers `mongodb` and `nats`, the services, and the gateway. */
  readonly parts: readonly string[];
  readonly baseUrl: string;
  /** Where the server of events listens, also while it is stopped. */
  readonly natsUrl: string;
  readonly bootstrapFile: string;
  start(part: string): Promise<void>;
  /** Returns what a process has written to standard error; empty for a server. */
  stderr(part: string): string;
  /** Waits until a process ends by itself. Returns its exit code. */
  exited(part: string): Promise<number | null>;
  /** Ends a service or a server. */
  kill(part: string): Promise<void>;
  /** Creates the first owner. Returns the exit code. */
  bootstrap(): Promise<number | null>;
  /** Kills the processes first and then the servers. */
  stop(): Promise<void>;
}

export const SERVERS: readonly string[] = ['mongodb', 'nats'];

export async function createLooseMesh(home: string, settings: NodeJS.ProcessEnv = {}): Promise<LooseMesh> {
  const script = <T>(name: string) => import(pathToFileURL(join(ROOT, 'scripts', name)).href) as Promise<T>;
  const { installTool, startMongo, startNats } = await script<ServersScript>('servers.mjs');
  const { SERVICES, BOOTSTRAP, programOf } = await script<MeshScript>('mesh.mjs');
  const tools = { mongodb: await installTool('secantus'), nats: await installTool('nats') };
  const [mongo, nats, http] = [await freePort(), await freePort(), await freePort()];
  const ports = new Map<string, number>();
  for (const name of SERVICES) ports.set(name, await freePort());
  const baseUrl = `http://127.0.0.1:${http}`;
  const bootstrapFile = join(home, 'bootstrap.json');
  const secret = () => randomBytes(32).toString('hex');
  const shared = {
    ...inherited(),
    COMMONPLACE_MONGODB_URL: `mongodb://127.0.0.1:${mongo}/?replicaSet=secantus`,
    COMMONPLACE_NATS_URL: `nats://127.0.0.1:${nats}`,
    COMMONPLACE_MESH_KEY: secret(),
    COMMONPLACE_SECRET_KEY: secret(),
    COMMONPLACE_SECRETS_KEY: secret(),
    COMMONPLACE_SERVICE_ADDRESSES: [...ports].map(([name, port]) => `${name}=127.0.0.1:${port}`).join(','),
    COMMONPLACE_GRPC_HOST: '127.0.0.1',
    COMMONPLACE_PORT: String(http),
    COMMONPLACE_PUBLIC_URL: baseUrl,
    COMMONPLACE_DATA_DIR: join(home, 'data'),
    COMMONPLACE_BOOTSTRAP_JSON: bootstrapFile,
    COMMONPLACE_RATE_LIMITS: 'off',
    COMMONPLACE_EMBEDDINGS: 'off',
    COMMONPLACE_MAX_LOOP_DELAY_MS: '0',
    COMMONPLACE_SAMPLE: '0',
    ...settings,
  };
  const processes = new Map<string, Running>();
  const servers = new Map<string, Server>();
  return {
    parts: [...SERVERS, ...SERVICES, 'gateway'],
    baseUrl,
    natsUrl: `nats://127.0.0.1:${nats}`,
    bootstrapFile,
    async start(part) {
      if (part === 'mongodb') servers.set(part, await startMongo(tools.mongodb, join(home, 'mongodb'), mongo));
      else if (part === 'nats') servers.set(part, await startNats(tools.nats, join(home, 'nats'), nats));
      else {
        const port = ports.get(part);
        const own = port === undefined ? {} : { COMMONPLACE_GRPC_PORT: String(port) };
        processes.set(part, startScript(join(ROOT, programOf(part)), { ...shared, ...own }));
      }
    },
    stderr: (part) => processes.get(part)?.stderr() ?? '',
    exited: (part) => processes.get(part)?.exited ?? Promise.resolve(null),
    async kill(part) {
      await servers.get(part)?.stop();
      servers.delete(part);
      await processes.get(part)?.kill();
    },
    bootstrap: () => startScript(join(ROOT, BOOTSTRAP), shared).exited,
    async stop() {
      await Promise.all([...processes.values()].map((one) => one.kill()));
      processes.clear();
      await Promise.all([...servers.values()].map((one) => one.stop()));
      servers.clear();
    },
  };
}
