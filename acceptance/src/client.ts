import { Agent, type Dispatcher } from 'undici';
import { requireListed } from './answered.js';
import type { Envelope, ErrorBody, Page } from './records.js';
import type { System } from './system.js';

/** A browser session: its cookie, and the CSRF token that writes have to send. */
export interface Session {
  readonly cookie: string;
  readonly csrf: string;
}

/** A credential: an API key or another bearer token, a session, or none. */
export type Credential = string | Session | undefined;

/** An answer. Reading `data` of an error, or `error` of a success, throws an error with the whole exchange. */
export interface Reply<T> {
  readonly status: number;
  readonly headers: Headers;
  /** The text of the body as received. */
  readonly text: string;
  readonly body: Envelope<T>;
  readonly data: T;
  readonly page: Page;
  readonly error: ErrorBody;
}

interface Options {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests to a system as one client. Paths are below `/api/v1` or are full paths of the server. */
export interface Api {
  get<T = Record<string, unknown>>(path: string, options?: Options): Promise<Reply<T>>;
  post<T = Record<string, unknown>>(path: string, body?: unknown, options?: Options): Promise<Reply<T>>;
  patch<T = Record<string, unknown>>(path: string, body?: unknown, options?: Options): Promise<Reply<T>>;
  del<T = Record<string, unknown>>(path: string, options?: Options): Promise<Reply<T>>;
  /** Sends a request with any method. A `body` of text or bytes is sent unchanged. */
  send<T = Record<string, unknown>>(method: string, path: string, body?: unknown, options?: Options): Promise<Reply<T>>;
}

/** Creates a client of a system with one credential. */
export function api({ baseUrl }: Pick<System, 'baseUrl'>, credential?: Credential): Api {
  const send: Api['send'] = async <T>(method: string, path: string, body?: unknown, options: Options = {}) => {
    const url = /^\/(api|auth|health|docs|blobs)(\/|$)/.test(path) ? baseUrl + path : `${baseUrl}/api/v1${path}`;
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const headers = {
      ...credentialHeaders(credential, method),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...options.headers,
    };
    const payload = body === undefined || isRaw ? (body as string | undefined) : JSON.stringify(body);
    const answer = await exchange(method, url, headers, payload);
    await requireListed({ method, url, ...answer });
    return replyOf<T>(`${method} ${path}`, answer);
  };
  return {
    send,
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, body, options),
    patch: (path, body, options) => send('PATCH', path, body, options),
    del: (path, options) => send('DELETE', path, undefined, options),
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const agent = new Agent();

/** Headers that `fetch` sends by default. */
const OF_FETCH = Object.entries({
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
});

/**
 * Sends one request like `fetch`, without following redirects. It calls undici directly, because the streams of `fetch`
 * cost more than everything else.
 */
async function exchange(
  method: string,
  url: string,
  headers: Record<string, string>,
  body: string | Uint8Array | undefined,
): Promise<Answer> {
  const { origin, pathname, search } = new URL(url);
  const sent = new Headers(headers);
  for (const [name, value] of OF_FETCH) if (!sent.has(name)) sent.set(name, value);
  const answer = await agent.request({
    origin,
    path: pathname + search,
    method: method as Dispatcher.HttpMethod,
    headers: Object.fromEntries(sent),
    body: body ?? null,
  });
  const given = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return { status: answer.statusCode, headers: new Headers(given), text: await answer.body.text() };
}

export function credentialHeaders(credential: Credential, method: string): Record<string, string> {
  if (credential === undefined) return {};
  if (typeof credential === 'string') return { Authorization: `Bearer ${credential}` };
  const csrf: Record<string, string> = method === 'GET' ? {} : { 'X-CSRF-Token': credential.csrf };
  return { Cookie: credential.cookie, ...csrf };
}

function replyOf<T>(what: string, { status, headers, text }: Answer): Reply<T> {
  const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Envelope<T>;
  const unexpected = (wanted: string) => new Error(`${what} answers no ${wanted}: ${status} ${text.slice(0, 2000)}`);
  return {
    status,
    headers,
    text,
    body,
    get data() {
      if (body.data === undefined || status >= 300) throw unexpected('data');
      return body.data;
    },
    get page() {
      if (body.page === undefined) throw unexpected('page');
      return body.page;
    },
    get error() {
      if (body.error === undefined || status < 400) throw unexpected('error');
      return body.error;
    },
  };
}
