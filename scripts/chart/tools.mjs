// Runs helm and other programs for the scripts in this folder.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../build.mjs';
import { installTool } from '../servers.mjs';

export const CHART = join(root, 'charts', 'commonplace');
/** Default name of a release. Helm needs the Kubernetes version below, because there is no cluster to ask. */
export const RELEASE = 'commonplace';
export const NAMESPACE = 'work';
const KUBE_VERSION = '1.36.3';

const execute = promisify(execFile);

/** Runs a program. Returns its exit code and output. Throws only if the program can't be started. */
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

/** Returns the path of a tool. Installs the tool if it is missing. */
export function tool(name) {
  if (!installed.has(name)) installed.set(name, installTool(name));
  return installed.get(name);
}

export async function helm(args, options) {
  return run(await tool('helm'), args, options);
}

/** Renders the chart with values files. Throws helm's message if helm refuses them. */
export async function template(files, { set = [], chart = CHART } = {}) {
  const values = [...files.flatMap((file) => ['-f', file]), ...set.flatMap((pair) => ['--set', pair])];
  const args = ['template', RELEASE, chart, '--namespace', NAMESPACE, '--kube-version', KUBE_VERSION, ...values];
  const { code, stdout, stderr } = await helm(args);
  if (code !== 0) throw new Error(stderr.trim());
  return withoutGenerated(stdout);
}

/** Replaces certificates and keys, which differ in each rendering, by a constant text. */
function withoutGenerated(text) {
  return text.replaceAll(
    /^( {2}(?:tls|ca)\.(?:crt|key): )\S{100,}$/gm,
    `$1${Buffer.from('generated').toString('base64')}`,
  );
}

/** Returns the folder of a tool's program. */
export async function toolFolder(name) {
  return dirname(await tool(name));
}
