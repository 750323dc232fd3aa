import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { eventually } from './eventually.js';
import { type Running, startScript } from './process.js';

/** The project's root, three folders above the compiled file. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');

/**
 * How a system runs: as one process with everything in it, or as a process for the gateway and each service, with real
 * servers.
 */
type Mode = 'embedded' | 'mesh';

export const mode: Mode = process.env.COMMONPLACE_TEST_MODE === 'mesh' ? 'mesh' : 'embedded';

/** The first person and their key with every scope, from the bootstrap file. */
export interface Owner {
  readonly email: string;
  readonly password: string;
  readonly apiKey: string;
}

/** A running system, and a person who has only an account and a key. */
export interface System {
  readonly mode: Mode;
  readonly baseUrl: string;
  readonly owner: Owner;
  /** Returns all output of the system's processes since they started. */
  said(): Promise<string>;
}

/** A running system with its own data, which a test may use in any way. */
export interface OwnSystem extends System {
  readonly bootstrapFile: string;
  /** Settings by which a command that runs next to the system finds its data. */
  readonly places: NodeJS.ProcessEnv;
  /**
   * Returns the standard output of the system's processes since they started. `stderr` does the same for standard
   * error.
   */
  stdout(): string;
  stderr(): string;
  /** Sends SIGTERM. Returns the exit code. The data stay. */
  terminate(): Promise<number | null>;
  /** Sends SIGKILL to every process. The data stay. */
  kill(): Promise<void>;
  /** Starts the system again on the same data and port, after `terminate` or `kill`. */
  restart(): Promise<void>;
  /** Starts a second replica of every service on the same servers, with a gateway of its own. Mesh only. */
  replicate(): Promise<Pick<System, 'baseUrl'>>;
  /** Kills all processes and deletes the data. */
  stop(): Promise<void>;
}

/** Timeout in milliseconds until a system is ready. */
const START_MS = 150_000 * PATIENCE;

/**
 * Settings of a system, which override the defaults of tests. By default, `COMMONPLACE_RATE_LIMITS` and
 * `COMMONPLACE_EMBEDDINGS` are `off`, no request is shed because of a slow machine, since other work on the machine may
 * be the cause, and no sample workspace is created, since writing and indexing the documentation takes a fifth of a
 * start.
 */
export type Settings = Readonly<Record<string, string>>;

/** Starts a system on a free port and waits until it is ready and its owner exists. */
export async function startSystem(settings: Settings = {}): Promise<OwnSystem> {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-acceptance-'));
  const servers = mode === 'mesh' ? await startServers() : undefined;
  const port = Number(settings.COMMONPLACE_PORT ?? (await freePort()));
  const baseUrl = `http://127.0.0.1:${port}`;
  const bootstrapFile = join(home, 'bootstrap.json');
  const env = {
    ...inherited(),
    ...servers?.env,
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_DATA_DIR: join(home, 'data'),
    COMMONPLACE_BOOTSTRAP_JSON: bootstrapFile,
    COMMONPLACE_RATE_LIMITS: 'off',
    COMMONPLACE_EMBEDDINGS: 'off',
    COMMONPLACE_MAX_LOOP_DELAY_MS: '0',
    COMMONPLACE_SAMPLE: '0',
    COMMONPLACE_MESH_KEY: randomBytes(32).toString('hex'),
    ...settings,
  };
  let running: Running;
  const replicas: Running[] = [];
  const start = async () => {
    running = startScript(join(ROOT, ENTRY[mode]), env);
    await isReady(running, baseUrl);
  };
  const replicate = async () => {
    if (mode !== 'mesh') throw new Error('Only a mesh can have a replica: a data folder belongs to one process.');
    const replicaPort = await freePort();
    const replica = startScript(join(ROOT, ENTRY[mode]), { ...env, COMMONPLACE_PORT: String(replicaPort) });
    replicas.push(replica);
    const place = { baseUrl: `http://127.0.0.1:${replicaPort}` };
    await isReady(replica, place.baseUrl);
    return place;
  };
  const stop = async () => {
    // How the processes end is irrelevant here. A test that checks it uses `terminate`. A killed one writes no coverage.
    const records = process.env.NODE_V8_COVERAGE !== undefined;
    await Promise.all([running, ...replicas].map((one) => (records ? one?.terminate() : one?.kill())));
    await servers?.stop();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    mode,
    baseUrl,
    bootstrapFile,
    places: { ...servers?.env, COMMONPLACE_DATA_DIR: env.COMMONPLACE_DATA_DIR },
    owner: await readOwner(bootstrapFile),
    stdout: () => running.stdout(),
    stderr: () => running.stderr(),
    said: async () => running.stdout() + running.stderr(),
    terminate: () => running.terminate(),
    kill: () => running.kill(),
    restart: start,
    replicate,
    stop,
  };
}

export const ENTRY: Record<Mode, string> = { embedded: 'services/all/dist/src/main.js', mesh: 'scripts/mesh.mjs' };
/** Text that a start prints when everything before it is done. */
const READY_OUTPUT: Record<Mode, string> = { embedded: 'Docs  ', mesh: 'Mesh of' };

/**
 * Returns this process's environment without settings of Commonplace and without `NODE_OPTIONS`. How long tests wait is
 * kept, because scripts that start a mesh wait, too.
 */
export function inherited(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => name === 'COMMONPLACE_TEST_PATIENCE' || !name.startsWith('COMMONPLACE_'),
  );
  return Object.fromEntries(kept.filter(([name]) => name !== 'NODE_OPTIONS'));
}

interface Servers {
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** Starts servers for one mesh, so that it finds no data of another mesh. */
async function startServers(): Promise<Servers> {
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
    startServers(): Promise<Servers>;
  };
  return script.startServers();
}

async function isReady(running: Running, baseUrl: string): Promise<void> {
  await running.says(READY_OUTPUT[mode], START_MS);
  const until = Date.now() + START_MS;
  for (;;) {
    const answer = await fetch(`${baseUrl}/health/ready`).catch(() => undefined);
    if (answer?.ok) return;
    if (Date.now() > until) throw new Error(`${baseUrl} is not ready.\n${running.stderr()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Reads the bootstrap file, which is written a moment after the system is ready. */
async function readOwner(file: string): Promise<Owner> {
  const facts = await eventually(() => JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>);
  const { email = '', password = '', api_key: apiKey = '' } = facts;
  return { email, password, apiKey };
}

/** Reserves `row` consecutive free loopback ports, by default one. Returns the first. */
export async function freePort(row = 1): Promise<number> {
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/ports.mjs')).href)) as {
    freePort(row: number): Promise<number>;
  };
  return script.freePort(row);
}

/** Returns the folder of test data; undefined if there is none. */
export function testData(): string | undefined {
  const folder = process.env.COMMONPLACE_TEST_DATA ?? join(ROOT, '../shared/data');
  return existsSync(folder) ? folder : undefined;
}
