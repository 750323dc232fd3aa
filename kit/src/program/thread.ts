import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { currentBundle, ROOT } from './current.js';

const BUNDLED = new URL('./bundled-thread.js', import.meta.url);

/**
 * Starts a thread with one of the project's modules: with its script of the bundle, or, if there is none, with the module
 * itself, which takes longer to load.
 */
export function startThread(module: URL, options: Omit<WorkerOptions, 'argv' | 'execArgv'>): Worker {
  const script = currentBundle()?.threads.get(relative(ROOT, fileURLToPath(module)));
  if (script === undefined) return new Worker(module, { ...options, execArgv: [] });
  return new Worker(BUNDLED, { ...options, execArgv: [], argv: [script] });
}
