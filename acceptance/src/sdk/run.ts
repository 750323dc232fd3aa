import { execFile } from 'node:child_process';

/** Runs a program. Returns its output. Throws an error with the output if the program fails. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout + stderr);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}
