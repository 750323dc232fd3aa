import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './system.js';

const TOOLS = process.env.COMMONPLACE_TOOLS ?? join(homedir(), '.cache/commonplace/tools');
const PROGRAM = join(TOOLS, 'jaeger-1.76.0/jaeger');

/** Whether `scripts/tools/jaeger.sh` has built Jaeger on this machine. */
export const hasJaeger = existsSync(PROGRAM);

export interface JaegerSpan {
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly { readonly refType: string; readonly spanID: string }[];
  readonly service: string;
  readonly tags: Readonly<Record<string, unknown>>;
}

/** A running Jaeger, a trace store. */
export interface Jaeger {
  /** URL that accepts OTLP over HTTP. */
  readonly otlpUrl: string;
  /** Returns the spans of a trace that have been received so far. */
  trace(id: string): Promise<JaegerSpan[]>;
  close(): Promise<void>;
}

interface RawTrace {
  readonly data: readonly {
    readonly spans: readonly (Omit<JaegerSpan, 'service' | 'tags'> & {
      readonly processID: string;
      readonly tags: readonly { readonly key: string; readonly value: unknown }[];
    })[];
    readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
  }[];
}

/** Starts Jaeger on free loopback ports. It stores traces in memory. */
export async function startJaeger(): Promise<Jaeger> {
  const [otlp, query] = [await freePort(), await freePort()];
  const child = spawn(PROGRAM, [
    `--collector.otlp.http.host-port=127.0.0.1:${otlp}`,
    `--query.http-server.host-port=127.0.0.1:${query}`,
    ...['collector.otlp.grpc', 'collector.grpc-server', 'collector.http-server', 'query.grpc-server', 'admin.http'].map(
      (place) => `--${place}.host-port=127.0.0.1:0`,
    ),
    '--memory.max-traces=10000',
    '--log-level=error',
  ]);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.stdout.resume();
  child.stderr.resume();
  const queryUrl = `http://127.0.0.1:${query}`;
  const close = () => stop(child, exited);
  try {
    await eventually(async () => {
      const answer = await fetch(`${queryUrl}/api/services`);
      if (!answer.ok) throw new Error(`Jaeger answers ${answer.status}`);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    otlpUrl: `http://127.0.0.1:${otlp}`,
    async trace(id) {
      const answer = await fetch(`${queryUrl}/api/traces/${id}`);
      if (answer.status === 404) return [];
      const { data } = (await answer.json()) as RawTrace;
      return data.flatMap(({ spans, processes }) =>
        spans.map(({ processID, tags, ...span }) => ({
          ...span,
          service: processes[processID]?.serviceName ?? '',
          tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])),
        })),
      );
    },
    close,
  };
}

async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exited;
  clearTimeout(timer);
}
