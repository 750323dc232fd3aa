import { spawn } from 'node:child_process';
import { freePort } from '../system.js';

/** Faults of a link: it swallows all bytes, delays them, or resets each connection. */
export const FAULTS = ['black hole', 'slow', 'reset'] as const;
export type Fault = (typeof FAULTS)[number];

/** A proxied connection from a client to a server. */
export interface Link {
  readonly name: string;
  /** Address such as `127.0.0.1:<port>`. */
  readonly address: string;
  break(fault: Fault): Promise<void>;
  heal(): Promise<void>;
}

interface Proxies {
  /** Creates a proxy for `127.0.0.1:<port>`. */
  add(name: string, port: number): Promise<Link>;
  stop(): Promise<void>;
}

/** Milliseconds by which a slow link delays each piece in either direction. */
const SLOW_MS = 700;
const START_MS = 15_000;

const TOXICS: Record<Fault, { readonly type: string; readonly attributes: Readonly<Record<string, number>> }> = {
  // With timeout 0, the fault lasts until it is removed and does not close the connection.
  'black hole': { type: 'timeout', attributes: { timeout: 0 } },
  slow: { type: 'latency', attributes: { latency: SLOW_MS, jitter: 0 } },
  reset: { type: 'reset_peer', attributes: { timeout: 0 } },
};

/** Starts the fault proxy on a free port. */
export async function startProxies(program: string): Promise<Proxies> {
  const port = await freePort();
  const child = spawn(program, ['-host', '127.0.0.1', '-port', String(port)], { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const orphan = () => child.kill('SIGKILL');
  process.once('exit', orphan);
  const send = async (method: string, path: string, body?: object): Promise<Response> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`the fault proxy answers ${answer.status} to ${method} ${path}`);
    return answer;
  };
  const until = Date.now() + START_MS;
  while (!(await send('GET', '/version').catch(() => undefined))) {
    if (Date.now() > until) throw new Error('the fault proxy does not start');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    async add(name, upstream) {
      const made = await send('POST', '/proxies', {
        name,
        listen: '127.0.0.1:0',
        upstream: `127.0.0.1:${upstream}`,
        enabled: true,
      });
      const { listen } = (await made.json()) as { listen: string };
      const toxics = `/proxies/${encodeURIComponent(name)}/toxics`;
      const each = (work: (stream: string) => Promise<unknown>) => Promise.all(['upstream', 'downstream'].map(work));
      return {
        name,
        address: listen,
        break: async (fault) =>
          void (await each((stream) => send('POST', toxics, { name: stream, stream, ...TOXICS[fault] }))),
        heal: async () => void (await each((stream) => send('DELETE', `${toxics}/${stream}`))),
      };
    },
    async stop() {
      process.off('exit', orphan);
      child.kill('SIGKILL');
      await exited;
    },
  };
}
