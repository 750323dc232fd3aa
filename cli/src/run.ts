import { runProgram } from './program.js';

/** Runs the command of this process's arguments, and ends the process with its exit code. */
export async function start(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // A reader such as `head` has read enough.
      if (error.code !== 'EPIPE') throw error;
    });
  }
  const exitCode = await runProgram(process.argv.slice(2));
  await Promise.all([written(process.stdout), written(process.stderr)]);
  process.exit(exitCode);
}

/** Waits until a stream has written all of its output: to a pipe it writes in the background, and exiting cuts that off. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
