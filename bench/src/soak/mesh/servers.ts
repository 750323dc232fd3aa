import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { endWithMe } from './orphans.js';

/** A server of a mesh that can be killed. It restarts on the same port. */
interface RestartableServer {
  /** Sends SIGKILL. `wipe` also deletes its data. */
  kill(options?: { readonly wipe?: boolean }): Promise<void>;
  start(): Promise<void>;
}

export interface Servers {
  /** Settings by which Commonplace finds the servers. */
  readonly env: NodeJS.ProcessEnv;
  readonly mongodbUrl: string;
  readonly store: RestartableServer;
  readonly broker: RestartableServer;
  stop(): Promise<void>;
}

interface Server {
  readonly port: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The functions of `scripts/servers.mjs` that are used here. */
interface Script {
  readonly TYPESENSE_KEY: string;
  installTool(name: string): Promise<string>;
  startMongo(program: string, data: string, port?: number): Promise<Server>;
  startNats(program: string, data: string, port?: number): Promise<Server>;
  startTypesense(program: string, data: string): Promise<Server>;
  startS3(program: string, data: string): Promise<Server>;
  s3Url(server: Server): string;
}

const loadScript = async () => (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as Script;

/** Returns the reason why servers can't be installed on this machine; undefined if they can. */
export async function missingServers(): Promise<string | undefined> {
  const script = await loadScript();
  try {
    for (const name of TOOLS) await script.installTool(name);
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
}

const TOOLS = ['secantus', 'nats', 'typesense', 'versitygw'];

/** Starts a store, a broker, a bucket and a search server, each with its own data folder. */
export async function startServers(): Promise<Servers> {
  const script = await loadScript();
  const program = async (name: string) => script.installTool(name);
  const mongo = await program('secantus');
  const nats = await program('nats');
  const typesense = await program('typesense');
  const versitygw = await program('versitygw');
  // Typesense runs as the user nobody, who can't read the project's folders.
  const home = mkdtempSync(join(tmpdir(), 'commonplace-mesh-'));
  const folder = (name: string) => join(home, name);
  const store = await openRestartable(folder('mongo'), (data, port = 0) => script.startMongo(mongo, data, port));
  const broker = await openRestartable(folder('nats'), (data, port = -1) => script.startNats(nats, data, port));
  const search = await script.startTypesense(typesense, folder('typesense'));
  const bytes = await script.startS3(versitygw, folder('s3'));
  const mongodbUrl = `mongodb://127.0.0.1:${store.port}/?replicaSet=secantus`;
  return {
    env: {
      COMMONPLACE_MONGODB_URL: mongodbUrl,
      COMMONPLACE_NATS_URL: `nats://127.0.0.1:${broker.port}`,
      // A local folder belongs to a single process, but several processes can share a bucket.
      COMMONPLACE_S3_URL: script.s3Url(bytes),
      COMMONPLACE_TYPESENSE_URL: `http://127.0.0.1:${search.port}`,
      COMMONPLACE_TYPESENSE_API_KEY: script.TYPESENSE_KEY,
    },
    mongodbUrl,
    store,
    broker,
    async stop() {
      await Promise.all([store.stop(), broker.stop(), search.stop('SIGKILL'), bytes.stop('SIGKILL')]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function openRestartable(data: string, run: (data: string, port?: number) => Promise<Server>) {
  let server = await run(data);
  const { port } = server;
  const spare = endWithMe(() => void server.stop('SIGKILL'));
  return {
    port,
    async kill({ wipe = false } = {}) {
      await server.stop('SIGKILL');
      if (wipe) rmSync(data, { recursive: true, force: true });
    },
    async start() {
      server = await run(data, port);
    },
    async stop() {
      spare();
      await server.stop('SIGKILL');
    },
  };
}
