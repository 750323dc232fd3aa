import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Running, startScript } from '../process.js';
import { inherited, ROOT } from '../system.js';

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: unknown;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

/**
 * Runs the workloads of a rendered chart as processes on this machine, with the commands and variables that they would
 * have in a cluster.
 */
interface Deployment {
  /** Runs the init containers of the pod one after another, then starts its main container. */
  startPod(): Promise<Running>;
  /** Runs a job of the CronJob. */
  runBackup(): Promise<void>;
}

/** The folders that replace the volumes of the pod, and the port on which the process listens. */
export interface Machine {
  readonly data: string;
  readonly backups: string;
  readonly port: number;
}

const PROGRAMS: Readonly<Record<string, string>> = {
  'main.mjs': 'services/all/dist/src/main.js',
  'commonplace.mjs': 'cli/commonplace.mjs',
};

/** Renders the chart with values, like `helm install` or `helm upgrade`. */
export async function deploy(machine: Machine, values: readonly string[]): Promise<Deployment> {
  const load = <T>(file: string) => import(pathToFileURL(join(ROOT, 'scripts/chart', file)).href) as Promise<T>;
  const { template } = await load<{ template(files: string[], more: object): Promise<string> }>('tools.mjs');
  const { parse } = await load<{ parse(text: string): Rendered[] }>('objects.mjs');
  const objects = parse(await template([], { set: values }));
  const workload = objects.find(({ kind }) => kind === 'StatefulSet') as Rendered;
  const pod = (workload.spec as { template: { spec: PodSpec } }).template.spec;
  const job = objects.find(({ kind }) => kind === 'CronJob')?.spec as
    | { jobTemplate: { spec: { template: { spec: PodSpec } } } }
    | undefined;
  const run = async (container: Container) => {
    const running = start(container, machine);
    const code = await running.exited;
    if (code !== 0) throw new Error(`${container.name} ended with ${code}: ${running.stderr()}`);
  };
  return {
    async startPod() {
      for (const container of pod.initContainers ?? []) await run(container);
      return start(pod.containers[0] as Container, machine);
    },
    async runBackup() {
      if (job === undefined) throw new Error('the chart was rendered without a backup');
      await run(job.jobTemplate.spec.template.spec.containers[0] as Container);
    },
  };
}

function start({ args, env }: Container, { data, backups, port }: Machine): Running {
  const local = (text: string) => text.replace(/^\/data\b/, data).replace(/^\/backup\b/, backups);
  const at = args.findIndex((arg) => PROGRAMS[arg] !== undefined);
  const program = PROGRAMS[args[at] ?? ''];
  if (program === undefined) throw new Error(`this checkout has no program for ${args.join(' ')}`);
  const settings = Object.fromEntries(env.map(({ name, value = '' }) => [name, local(value)]));
  const own = {
    ...{ COMMONPLACE_HOST: '127.0.0.1', COMMONPLACE_PORT: String(port) },
    COMMONPLACE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    ...{ COMMONPLACE_RATE_LIMITS: 'off', COMMONPLACE_EMBEDDINGS: 'off' },
  };
  return startScript(
    join(ROOT, program),
    { ...inherited(), ...settings, ...own },
    args.slice(0, at),
    args.slice(at + 1).map(local),
  );
}
