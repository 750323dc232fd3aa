import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import { freePort, inherited } from '@commonplace/acceptance/dist/src/system.js';
import type { Subject } from '../measure.js';
import { processTree } from '../processes.js';

/** What a bare server answers, whatever is asked of it. */
export interface LimitSpec {
  readonly method: 'GET' | 'POST';
  /** Its route, as `@koa/router` writes it. */
  readonly path: string;
  readonly status: number;
  /** The bodies, given in turn. */
  readonly answers: readonly string[];
}

/** What a bare server is told when it starts. */
export interface LimitFile extends LimitSpec {
  readonly port: number;
  /** Where it asks for the answer by id, instead of having it. */
  readonly reader?: string;
}

const START_MS = 10_000;

/** Koa with one route: the speed that this library allows anybody. */
export function startBareKoa(spec: LimitSpec): Promise<Subject> {
  return startLimit('bare Koa', spec, undefined);
}

/** The same, which fetches each answer over gRPC from a process that reads it by id from MongoDB, `ids` in the order of the answers. */
export function startKoaGrpc(spec: LimitSpec, mongodbUrl: string, ids: readonly string[]): Promise<Subject> {
  return startLimit('bare Koa → grpc-js → MongoDB', spec, { mongodbUrl, ids, answers: spec.answers });
}

/** What the process behind gRPC is told. */
export interface ReaderFile {
  readonly port: number;
  readonly mongodbUrl: string;
  readonly ids: readonly string[];
  readonly answers: readonly string[];
}

async function startLimit(
  name: string,
  spec: LimitSpec,
  record: Omit<ReaderFile, 'port'> | undefined,
): Promise<Subject> {
  const home = mkdtempSync(join(tmpdir(), 'commonplace-limit-'));
  const running: Awaited<ReturnType<typeof startTold>>[] = [];
  const stop = async () => {
    await Promise.all(running.map((one) => one.kill()));
    rmSync(home, { recursive: true, force: true });
  };
  try {
    let reader: string | undefined;
    if (record !== undefined) {
      const told: ReaderFile = { ...record, port: await freePort() };
      running.push(await startTold('reader', home, told));
      reader = `127.0.0.1:${told.port}`;
    }
    const told: LimitFile = { ...spec, port: await freePort(), reader };
    running.push(await startTold('koa', home, told));
    const url = `http://127.0.0.1:${told.port}`;
    return { name, url, apiKey: undefined, pids: () => running.flatMap(({ pid }) => processTree(pid)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts `bare-<which>.js` beside this file with what it is told in a file. */
async function startTold(which: 'koa' | 'reader', home: string, told: LimitFile | ReaderFile) {
  const file = join(home, `${which}.json`);
  writeFileSync(file, JSON.stringify(told));
  const script = fileURLToPath(new URL(`./bare-${which}.js`, import.meta.url));
  const running = startScript(script, { ...inherited(), NODE_ENV: 'production', LIMIT_FILE: file });
  await running.says('ready', START_MS);
  return running;
}
