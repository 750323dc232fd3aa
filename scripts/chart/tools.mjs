// How the scripts here call helm and the other programs.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../build.mjs';
import { installTool } from '../servers.mjs';

export const CHART = join(root, 'charts', 'commonplace');
/** What a release is called where nothing else is said; helm asks for the Kubernetes version, as it has no cluster. */
export const RELEASE = 'commonplace';
export const NAMESPACE = 'work';
const KUBE_VERSION = '1.36.3';

const execute = promisify(execFile);

/** Runs a program. Gives its exit code and what it said, and throws only when it could not be started. */
export async function run(program, args, { input, ...options } = {}) {
  const running = execute(program, args, { maxBuffer: 64 << 20, ...options });
  if (input !== undefined) running.child.stdin.end(input);
  try {
    const { stdout, stderr } = await running;
    return { code: 0, stdout, stderr };
  } catch (error) {
    if (typeof error.code !== 'number') throw error;
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

const installed = new Map();

/** The path of a tool, which is installed where it is missing. */
export function tool(name) {
  if (!installed.has(name)) installed.set(name, installTool(name));
  return installed.get(name);
}

/** Runs `helm`. */
export async function helm(args, options) {
  return run(await tool('helm'), args, options);
}

/** Renders the chart with values files. Throws what helm says where it refuses. */
export async function template(files, { set = [], chart = CHART } = {}) {
  const values = [...files.flatMap((file) => ['-f', file]), ...set.flatMap((pair) => ['--set', pair])];
  const args = ['template', RELEASE, chart, '--namespace', NAMESPACE, '--kube-version', KUBE_VERSION, ...values];
  const { code, stdout, stderr } = await helm(args);
  if (code !== 0) throw new Error(stderr.trim());
  return stdout;
}

/** The folder of what an installer prints. */
export async function toolFolder(name) {
  return dirname(await tool(name));
}
