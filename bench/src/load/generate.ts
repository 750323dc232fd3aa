import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadResult, LoadSpec } from './spec.js';

const GENERATOR = fileURLToPath(new URL('./generator.js', import.meta.url));

/** Sends a load from another process. Returns its results. */
export function generate(spec: LoadSpec): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const child = fork(GENERATOR, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.once('message', (result) => resolve(result as LoadResult));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The load generator ended with ${code}.`)));
    child.send(spec);
  });
}
