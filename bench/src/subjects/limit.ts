import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import { freePort, inherited } from '@commonplace/acceptance/dist/src/system.js';
import type { LoadRequest } from '../load/spec.js';
import type { Subject } from '../measure.js';
import { processTree } from '../processes.js';

/** The answers of a bare server, which ignores the content of requests. */
export interface LimitSpec {
  readonly method: LoadRequest['method'];
  /** Route in the syntax of `@koa/router`. */
  readonly path: string;
  readonly status: number;
  /** Bodies of answers, used in turn. */
  readonly answers: readonly string[];
}

/** Settings of a bare server. */
export interface LimitFile extends LimitSpec {
  readonly port: number;
  /** Address of the reader from which answers are fetched by id; undefined if the server has the answers itself. */
  readonly reader?: string;
}

const START_MS = 10_000;

/** Starts Koa with one route, which shows the speed that the library can reach. */
export function startBareKoa(spec: LimitSpec): Promise<Subject> {
  return startLimit('bare Koa', spec, undefined);
}

/**
 * Starts Koa with one route that fetches each answer by id over gRPC, from a process that has them in memory. `ids` has
 * the order of the answers.
 */
export function startKoaGrpc(spec: LimitSpec, ids: readonly string[]): Promise<Subject> {
  return startLimit('bare Koa → grpc-js', spec, { ids, answers: spec.answers });
}

/** Starts Node's HTTP server, which writes each posted message to every open stream. */
export function startBareFanOut(): Promise<Subject> {
  return startLimit('bare fan-out', undefined, undefined);
}

/** Settings of the process behind gRPC. */
export interface ReaderFile {
  readonly port: number;
  readonly ids: readonly string[];
  readonly answers: readonly string[];
}

async function startLimit(
  name: string,
  spec: LimitSpec | undefined,
  record: Omit<ReaderFile, 'port'> | undefined,
): Promise<Subject> {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-limit-'));
  const running: Awaited<ReturnType<typeof startWithSettings>>[] = [];
  const stop = async () => {
    await Promise.all(running.map((one) => one.kill()));
    rmSync(home, { recursive: true, force: true });
  };
  try {
    let reader: string | undefined;
    if (record !== undefined) {
      const settings: ReaderFile = { ...record, port: await freePort() };
      running.push(await startWithSettings('reader', home, settings));
      reader = `127.0.0.1:${settings.port}`;
    }
    const port = await freePort();
    if (spec === undefined) running.push(await startWithSettings('fan-out', home, { port }));
    else running.push(await startWithSettings('koa', home, { ...spec, port, reader }));
    const url = `http://127.0.0.1:${port}`;
    return { name, url, apiKey: undefined, pids: () => running.flatMap(({ pid }) => processTree(pid)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts `bare-<which>.js` in this folder and passes its settings in a file. */
async function startWithSettings(
  which: 'koa' | 'reader' | 'fan-out',
  home: string,
  settings: { port: number } | LimitFile | ReaderFile,
) {
  const file = join(home, `${which}.json`);
  writeFileSync(file, JSON.stringify(settings));
  const script = fileURLToPath(new URL(`./bare-${which}.js`, import.meta.url));
  const running = startScript(script, { ...inherited(), NODE_ENV: 'production', LIMIT_FILE: file });
  await running.says('ready', START_MS);
  return running;
}
