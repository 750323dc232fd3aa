import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import { freePort, inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { cpuSeconds, processTree } from './processes.js';

const EMBEDDED = join(ROOT, 'services/all/dist/src/main.js');
const MESH = join(ROOT, 'scripts/mesh.mjs');

/** A running Commonplace on a data folder that outlives it. */
export interface System {
  readonly baseUrl: string;
  /** The owner's key, with every scope. */
  readonly apiKey: string;
  readonly pid: number;
  /** Milliseconds from the start until the system first reports that it is ready. */
  readonly readyMs: number;
  pids(): number[];
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
}

export interface StartOptions {
  readonly home: string;
  /** Port of the previous start; a free port by default. */
  readonly port?: number;
  readonly mesh?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Timeout of a start in milliseconds. It is longer on a slow or busy machine (`COMMONPLACE_TEST_PATIENCE`). */
const START_MS = 60_000 * PATIENCE;

/**
 * Starts the system on `home`, by default without rate limits and embeddings. Waits until it is ready and its owner
 * exists.
 */
export async function startSystem({ home, port, mesh = false, settings = {} }: StartOptions): Promise<System> {
  const listen = port ?? (await freePort());
  const baseUrl = `http://127.0.0.1:${listen}`;
  const facts = join(home, 'bootstrap.json');
  mkdirSync(home, { recursive: true });
  const env = {
    ...inherited(),
    ...(mesh ? servers() : {}),
    COMMONPLACE_PORT: String(listen),
    COMMONPLACE_DATA_DIR: join(home, 'data'),
    COMMONPLACE_BOOTSTRAP_JSON: facts,
    COMMONPLACE_RATE_LIMITS: 'off',
    COMMONPLACE_EMBEDDINGS: 'off',
    COMMONPLACE_PUBLIC_URL: baseUrl,
    ...settings,
  };
  const started = performance.now();
  const running = mesh ? startScript(MESH, env) : startScript(EMBEDDED, env, startFlags());
  const ended = running.exited.then((code) => {
    throw new Error(`${baseUrl} ended with ${code}.\n${running.stdout()}\n${running.stderr()}`);
  });
  ended.catch(() => {});
  try {
    await Promise.race([isReady(baseUrl), ended]);
    const readyMs = performance.now() - started;
    // A first start creates the owner and the sample after the system is ready.
    await Promise.race([running.says(mesh ? 'Mesh of' : 'Docs  ', START_MS), ended]);
    const apiKey = await keyIn(facts);
    const stop = async () => void (await running.terminate());
    return {
      baseUrl,
      apiKey,
      pid: running.pid,
      readyMs,
      pids: () => processTree(running.pid),
      stop,
      kill: running.kill,
    };
  } catch (error) {
    await running.kill();
    throw error;
  }
}

/** Returns the flags that `npm start` passes to Node.js. */
function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ').slice(1, -1);
}

function servers(): NodeJS.ProcessEnv {
  const { COMMONPLACE_MONGODB_URL, COMMONPLACE_NATS_URL } = process.env;
  return { COMMONPLACE_MONGODB_URL, COMMONPLACE_NATS_URL };
}

async function isReady(baseUrl: string): Promise<void> {
  const until = performance.now() + START_MS;
  while (performance.now() < until) {
    const ok = await fetch(`${baseUrl}/health/ready`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await sleep(5);
  }
  throw new Error(`${baseUrl} is not ready after ${START_MS} ms.`);
}

/** Returns the owner's key. The first start of a home writes it a moment after the system is ready. */
async function keyIn(file: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    // The file may exist before it is complete.
    if (text.endsWith('\n')) return (JSON.parse(text) as { api_key: string }).api_key;
    await sleep(50);
  }
  throw new Error('There is no key: these servers hold the data of an installation that was here before.');
}

/** Fraction of a core below which processes count as idle. */
const QUIET = 0.05;
/** The same for each process of a mesh, which renews leases and answers health checks while nobody asks for anything. */
const QUIET_EACH = 0.02;

/** Waits until processes are idle, for at most `timeoutSeconds` seconds. */
export async function settle(pids: () => readonly number[], timeoutSeconds = 30): Promise<void> {
  for (let tries = 0; tries < timeoutSeconds * 2; tries++) {
    const before = cpuSeconds(pids());
    await sleep(500);
    if ((cpuSeconds(pids()) - before) / 0.5 < Math.max(QUIET, QUIET_EACH * pids().length)) return;
  }
}
