import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { FreshBundle } from './bundle.js';
import { currentBundle, ROOT } from './current.js';

const BUNDLED = new URL('./bundled-thread.js', import.meta.url);

/**
 * Starts a thread with one of the project's modules: with its script of the bundle, or, if there is none, with the module
 * itself, which takes longer to load.
 */
export function startThread(module: URL, options: Omit<WorkerOptions, 'argv' | 'execArgv'>): Worker {
  const { entry, argv } = entryOf(module, currentBundle());
  return new Worker(entry, { ...options, execArgv: [], argv });
}

/** Returns with what the thread of a module starts. */
export function entryOf(module: URL, bundle: FreshBundle | undefined): { entry: URL; argv: string[] } {
  const script = bundle?.threads.get(relative(ROOT, fileURLToPath(module)));
  // Later builds delete the scripts of a process that has run for long.
  return script !== undefined && existsSync(script) ? { entry: BUNDLED, argv: [script] } : { entry: module, argv: [] };
}
