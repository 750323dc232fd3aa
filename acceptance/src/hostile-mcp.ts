import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A server that must not be called. It counts the connections to it, whatever they send. */
export interface Canary {
  readonly port: number;
  /** Returns the number of connections since the previous call. */
  takeCount(): number;
  stop(): Promise<void>;
}

export async function startCanary(): Promise<Canary> {
  let count = 0;
  const server = createServer((socket: Socket) => {
    count++;
    socket.destroy();
  });
  const port = await listen(server, '127.0.0.1');
  return {
    port,
    takeCount() {
      const counted = count;
      count = 0;
      return counted;
    },
    stop: () => close(server),
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An MCP server and its authorization server, both of an attacker who wants to make the system call other servers. */
export interface HostileMcp {
  readonly origin: string;
  readonly url: string;
  /** The metadata of the resource. Below, that of the authorization server. */
  resource: Record<string, unknown>;
  metadata: Record<string, unknown>;
  /** Answers by path that replace the regular ones. */
  readonly answers: Map<string, Answer>;
  /** Paths that were requested. */
  readonly asked: string[];
  /** Makes the server behave like a regular one again. */
  reset(): void;
  stop(): Promise<void>;
}

export const RESOURCE_PATH = '/.well-known/oauth-protected-resource/mcp';
export const METADATA_PATH = '/.well-known/oauth-authorization-server';

export async function startHostileMcp(): Promise<HostileMcp> {
  const usual = new Map<string, Answer>([
    [RESOURCE_PATH, (_, response) => sendJson(response, 200, running.resource)],
    [METADATA_PATH, (_, response) => sendJson(response, 200, running.metadata)],
    ['/register', (_, response) => sendJson(response, 201, { client_id: 'client', redirect_uris: [] })],
    ['/token', (_, response) => sendJson(response, 200, TOKENS)],
    ['/mcp', (_, response) => response.writeHead(401).end()],
  ]);
  const http = createHttpServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '/';
    running.asked.push(path);
    request.resume();
    const answer = running.answers.get(path) ?? usual.get(path);
    if (answer === undefined) sendJson(response, 404, {});
    else answer(request, response);
  });
  const origin = `http://localhost:${await listen(http, 'localhost')}`;
  const running: HostileMcp = {
    ...{ origin, url: `${origin}/mcp`, resource: {}, metadata: {}, answers: new Map(), asked: [] },
    reset() {
      running.resource = { resource: running.url, authorization_servers: [origin] };
      running.metadata = metadataOf(origin);
      running.answers.clear();
      running.asked.length = 0;
    },
    stop: () => close(http),
  };
  running.reset();
  return running;
}

/** Answers with a redirect that some clients follow with the method and the body of the request. */
export const redirectTo =
  (location: string): Answer =>
  (_, response) =>
    response.writeHead(307, { location }).end();

const TOKENS = { access_token: 'token', token_type: 'Bearer', expires_in: 3600 };

const metadataOf = (issuer: string) => ({
  ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
  registration_endpoint: `${issuer}/register`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
});

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

function close(server: Server & { closeAllConnections?(): void }): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections?.();
  });
}
