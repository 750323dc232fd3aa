import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in a process; `onStderr` gets its standard error output as it arrives. */
export function commonplace(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  onStderr: (text: string, kill: (signal?: NodeJS.Signals) => void) => void = () => {},
  encoding: BufferEncoding = 'utf8',
): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, 'cli/commonplace.mjs'), ...args], {
    env: { ...inherited(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding(encoding).on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    onStderr(text, (signal = 'SIGKILL') => child.kill(signal));
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}
