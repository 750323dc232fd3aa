import { hostname } from 'node:os';
import { ConfigError, EX_CONFIG, helpText, type Table, unknownSettings } from '@commonplace/kit/config';
import { loadInIdleTime } from '@commonplace/kit/library';
import { factsOfError, writeLastWords } from '@commonplace/kit/log';
import { limitHeapGrowth } from './heap-growth.js';
import { giveBackIdleMemory } from './idle-memory.js';
import type { ServiceModule } from './module.js';
import { type Running, run } from './run.js';
import { processSettings } from './settings.js';
import { startFailureOf } from './start-failure.js';

/** Milliseconds after its signal at which a process exits, even if something hangs. */
const EXIT_MS = 25_000;

const EX_USAGE = 64;

/** Signals that end a process: immediately during its start, and later after the calls in flight have ended. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs modules until a signal ends the process; it is all that a service's `main.ts` calls. `prepare` adds to the
 * environment what the user need not set, before the settings are read.
 */
export async function main(
  modules: readonly ServiceModule[],
  prepare?: (env: NodeJS.ProcessEnv) => void,
): Promise<Running | undefined> {
  if (process.argv.includes('--help')) {
    console.log(helpText(tablesOf(modules), process.argv.includes('--all')));
    return undefined;
  }
  requireNoArguments();
  // Files that this process writes are accessible to its own user only.
  process.umask(0o077);
  const facts = { hostname: hostname(), service: modules.length === 1 ? modules[0]?.name : 'commonplace' };
  process.on('uncaughtExceptionMonitor', (error) =>
    writeLastWords('process.failed', { ...facts, error: factsOfError(error) }),
  );
  // The same listener before and after the start: a signal that came while the start kept the process busy is delivered
  // only afterwards, and would be lost with a listener that is removed.
  let end: () => void = () => process.exit(0);
  for (const signal of SIGNALS) process.on(signal, () => end());
  limitHeapGrowth();
  try {
    if (modules.length > 1) reportUnknownSettings(modules);
    prepare?.(process.env);
    const running = await run(modules);
    loadInIdleTime();
    giveBackIdleMemory();
    end = stopOnce(running);
    return running;
  } catch (error) {
    endStart(error, facts);
  }
}

/** Ends the process if it has arguments: a start with `--port 9000` must not ignore the port. */
function requireNoArguments(): void {
  const [argument] = process.argv.slice(2);
  if (argument === undefined) return;
  console.error(`There is no argument ${argument}: settings are environment variables, which --help lists.`);
  process.exit(EX_USAGE);
}

function tablesOf(modules: readonly ServiceModule[]): Table[] {
  // The settings that most users look for come first.
  return [...modules.map((module) => module.config).reverse(), processSettings];
}

/**
 * Prints environment variables that no setting reads, each with the most similar name. It runs only in the process with
 * all modules, which knows every setting.
 */
function reportUnknownSettings(modules: readonly ServiceModule[]): void {
  const known = new Set(tablesOf(modules).flatMap((table) => Object.values(table).map(({ variable }) => variable)));
  for (const { name, nearest } of unknownSettings(process.env, known)) {
    const meant = nearest === undefined ? '' : `: did you mean ${nearest}?`;
    console.error(`${name} is not a setting, and is ignored${meant}`);
  }
}

/** Ends a process that cannot start: with one line if the operator can fix the cause, otherwise with the error. */
function endStart(error: unknown, facts: Record<string, unknown>): never {
  if (error instanceof ConfigError) {
    console.error(`The configuration can't be used:\n${error.problems.map((line) => `  - ${line}`).join('\n')}`);
    logFailedStart({ ...facts, exit_code: EX_CONFIG, problems: error.problems });
    process.exit(EX_CONFIG);
  }
  const failure = startFailureOf(error);
  if (failure === undefined) throw error;
  console.error(`Commonplace can't start: ${failure.line}`);
  logFailedStart({ ...facts, exit_code: failure.exitCode, problems: [failure.line] });
  process.exit(failure.exitCode);
}

/** Writes a log event for operators, unless standard error is a terminal, on which the same was printed as text. */
function logFailedStart(facts: Record<string, unknown>): void {
  if (!process.stderr.isTTY) writeLastWords('start.failed', facts);
}

/** Returns a function that closes what runs and ends the process; further calls do nothing. */
function stopOnce(running: Running): () => void {
  let stopping = false;
  return () => {
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
}
