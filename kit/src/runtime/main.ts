import { setFlagsFromString } from 'node:v8';
import { ConfigError, EX_CONFIG, helpOf } from '../config/index.js';
import type { ServiceModule } from './module.js';
import { type Running, run } from './run.js';
import { processSettings } from './settings.js';

/** A process ends within 25 s of its signal, whatever hangs. */
const EXIT_MS = 25_000;

/**
 * Percent by which a heap grows beyond what lives in it before it is collected. By itself the engine waits until it is
 * four times as large where the machine has the memory: an import of 5,000 pages then takes 400 MB, at 40 percent 210.
 */
const HEAP_GROWTH = 25;

/**
 * Runs modules until a signal ends the process; the whole of a service's `main.ts`. `prepare` adds to the environment
 * what its user need not say, before it is read.
 */
export async function main(
  modules: readonly ServiceModule[],
  prepare?: (env: NodeJS.ProcessEnv) => void,
): Promise<Running | undefined> {
  if (process.argv.includes('--help')) {
    const tables = [processSettings, ...modules.map((module) => module.config)];
    console.log(`Settings, by environment variables:\n\n${tables.map(helpOf).join('\n')}`);
    return undefined;
  }
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
  try {
    prepare?.(process.env);
    const running = await run(modules);
    stopOnSignal(running);
    return running;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(`The configuration can't be used:\n${error.problems.map((line) => `  - ${line}`).join('\n')}`);
    process.exit(EX_CONFIG);
  }
}

function stopOnSignal(running: Running): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), EXIT_MS).unref();
    running.close().then(
      () => process.exit(0),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
