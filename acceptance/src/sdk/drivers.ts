import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../system.js';
import { camel, type Operation, snake } from './operations.js';

/** A call of an operation as a user of an SDK makes it. */
export interface SdkCall {
  readonly operation: Operation;
  readonly pathValues: readonly string[];
  readonly input: Readonly<Record<string, unknown>> | Uint8Array<ArrayBuffer>;
  /** Headers with the credential. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface CallOutcome {
  readonly status: number;
  readonly code?: string;
}

/** Calls operations with one SDK. */
export interface Driver {
  readonly name: string;
  call(call: SdkCall): Promise<CallOutcome>;
  stop(): Promise<void>;
}

interface Client {
  readonly [group: string]: Readonly<Record<string, (...args: unknown[]) => PromiseLike<unknown>>>;
}

interface Sdk {
  readonly Commonplace: new (options: object) => Client;
  readonly ApiError: new (...args: never[]) => Error & { readonly status: number; readonly code: string };
}

export async function typeScriptDriver(baseUrl: string): Promise<Driver> {
  const sdk = (await import(pathToFileURL(join(ROOT, 'sdk/typescript/dist/index.js')).href)) as Sdk;
  return {
    name: 'TypeScript',
    async call({ operation, pathValues, input, headers }) {
      let status = 200;
      const onResponse = (info: { status: number }) => {
        status = info.status;
      };
      const client = new sdk.Commonplace({ baseUrl, headers, maxRetries: 0, onResponse });
      const given = operation.input === undefined ? [] : [input];
      try {
        await client[camel(operation.group)]?.[operation.method]?.(...pathValues, ...given);
        return { status };
      } catch (error) {
        if (error instanceof sdk.ApiError) return { status: error.status, code: error.code };
        throw error;
      }
    },
    stop: async () => {},
  };
}

/** Creates a driver for the Python SDK. `mode` selects which of its two clients makes the calls. */
export function pythonDriver(python: string, baseUrl: string, mode: 'sync' | 'async'): Driver {
  const env = { ...process.env, PYTHONPATH: join(ROOT, 'sdk/python/src') };
  const program = join(ROOT, 'acceptance/sdk/drive.py');
  const child = spawn(python, [program, baseUrl, mode], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    name: `Python (${mode})`,
    async call({ operation, pathValues, input, headers }) {
      const isBytes = input instanceof Uint8Array;
      const line = {
        group: operation.group,
        method: snake(operation.method),
        path: pathValues,
        place: operation.input === 'Record' ? 'record' : isBytes ? 'bytes' : 'fields',
        input: isBytes ? Buffer.from(input).toString('base64') : input,
        headers,
      };
      child.stdin.write(`${JSON.stringify(line)}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error('The Python program has ended.');
      return JSON.parse(value) as CallOutcome;
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
