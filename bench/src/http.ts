import { Agent, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends requests to one system with one key over keep-alive connections. */
export interface Client {
  /**
   * Returns the answer, whatever its status. Rejects if there is no answer. `path` is below `/api/v1`. A Buffer as body
   * is JSON that is sent unchanged.
   */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Returns the `data` of an answer. Throws if the answer is an error. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  close(): void;
}

/**
 * Milliseconds after which idle connections are closed. The server's own timeout is much longer, so the server never
 * closes a connection while a request is being sent.
 */
const IDLE_MS = 20_000;

/** Opens a client of `baseUrl` with `apiKey` and at most `connections` connections. */
export function openClient(baseUrl: string, apiKey: string, connections: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: IDLE_MS });
  return { ...sendTo(() => ({ baseUrl, agent }), apiKey), close: () => agent.destroy() };
}

/** The server and the connections that a request uses. */
interface Destination {
  readonly baseUrl: string;
  readonly agent: Agent;
}

/** Creates a client that chooses the destination of each request. It does not close connections. */
export function sendTo(choose: () => Destination, apiKey: string): Client {
  const authorization = `Bearer ${apiKey}`;

  const send: Client['send'] = async (method, path, body, headers = {}) => {
    const { baseUrl, agent } = choose();
    const payload = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const about = payload === undefined ? {} : { ...JSON_BODY, 'content-length': Buffer.byteLength(payload) };
    return new Promise((resolve, reject) => {
      const options = { agent, method, headers: { authorization, ...about, ...headers } };
      const outgoing = request(`${baseUrl}/api/v1${path}`, options, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
        });
      });
      outgoing.once('error', reject);
      outgoing.end(payload);
    });
  };

  return {
    send,
    async ask<T>(method: string, path: string, body?: unknown) {
      const { status, text } = await send(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} answers ${status}: ${text.slice(0, 500)}`);
      return (JSON.parse(text) as { data: T }).data;
    },
    close: () => {},
  };
}

export const JSON_BODY = { 'content-type': 'application/json' } as const;
