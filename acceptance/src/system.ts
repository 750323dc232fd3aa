import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eventually } from './eventually.js';
import { type Running, startScript } from './process.js';

/** The project's root, three folders above the compiled file. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');

/** One process with everything in it, or the gateway and each service on its own over real servers. */
export type Mode = 'embedded' | 'mesh';

export const mode: Mode = process.env.COMMONPLACE_TEST_MODE === 'mesh' ? 'mesh' : 'embedded';

/** The first person and their key, which has every scope; as the bootstrap file tells. */
export interface Owner {
  readonly email: string;
  readonly password: string;
  readonly apiKey: string;
}

/** A running system, and somebody in it who starts with nothing but an account and a key. */
export interface System {
  readonly mode: Mode;
  readonly baseUrl: string;
  readonly owner: Owner;
  /** All that its processes have said since they started. */
  said(): Promise<string>;
}

/** A running system with data of its own, to do with as one likes. */
export interface OwnSystem extends System {
  readonly bootstrapFile: string;
  /** Settings by which a command beside it finds what it keeps. */
  readonly places: NodeJS.ProcessEnv;
  /** What its processes have said since they started. */
  stdout(): string;
  stderr(): string;
  /** SIGTERM; gives the exit code. The data stays. */
  terminate(): Promise<number | null>;
  /** SIGKILL to every process. The data stays. */
  kill(): Promise<void>;
  /** Starts again on the same data and port, after `terminate` or `kill`. */
  restart(): Promise<void>;
  /** Ends everything at once and removes the data. */
  stop(): Promise<void>;
}

/** Milliseconds that a system may take until it is ready. */
const START_MS = 150_000;

/**
 * Settings over those of a test. Unless given, `COMMONPLACE_RATE_LIMITS` and `COMMONPLACE_EMBEDDINGS` are `off`, no work
 * is refused because the machine is slow, which other work on it may be the cause of, and no workspace holds the
 * documentation: to write and to index it takes a fifth of a start.
 */
export type Settings = Readonly<Record<string, string>>;

/** Starts a system on a free port and waits until it is ready and its owner is there. */
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
    ...settings,
  };
  let running: Running;
  const start = async () => {
    running = startScript(join(ROOT, ENTRY[mode]), env);
    await isReady(running, baseUrl);
  };
  const stop = async () => {
    // Nobody looks at how it ends: a test that does asks it to by `terminate`.
    await running?.kill();
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
    stop,
  };
}

const ENTRY: Record<Mode, string> = { embedded: 'services/all/dist/src/main.js', mesh: 'scripts/mesh.mjs' };
/** The last thing that a start says: what comes before it is done then. */
const LAST_WORDS: Record<Mode, string> = { embedded: 'Docs  ', mesh: 'Mesh of' };

/** What processes need of this one's environment; none of its settings. */
export function inherited(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('COMMONPLACE_'));
  return Object.fromEntries(kept.filter(([name]) => name !== 'NODE_OPTIONS'));
}

interface Servers {
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** Each mesh has servers of its own, so that it finds nothing of another. */
async function startServers(): Promise<Servers> {
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
    startServers(): Promise<Servers>;
  };
  return script.startServers();
}

async function isReady(running: Running, baseUrl: string): Promise<void> {
  await running.says(LAST_WORDS[mode], START_MS);
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

/** A port of the loopback that nobody listens on and nobody else is given; the first of `row` in a row. */
export async function freePort(row = 1): Promise<number> {
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/ports.mjs')).href)) as {
    freePort(row: number): Promise<number>;
  };
  return script.freePort(row);
}

/** The folder of test data, or undefined where there is none. */
export function testData(): string | undefined {
  const folder = process.env.COMMONPLACE_TEST_DATA ?? join(ROOT, '../shared/data');
  return existsSync(folder) ? folder : undefined;
}
