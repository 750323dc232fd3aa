import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OAuthRequest {
  readonly path: string;
  readonly params: URLSearchParams;
  readonly body: string;
}

/** An authorization server on loopback with PKCE, resource indicators, registration and rotated refresh tokens. */
export interface TestOAuthServer {
  readonly issuer: string;
  readonly requests: OAuthRequest[];
  /** Changes its metadata. */
  metadata: Record<string, unknown>;
  /** Lifetime of access tokens in seconds. */
  expiresIn: number;
  /** Milliseconds that a refresh takes. */
  refreshMs: number;
  /** Whether the server has deleted its registered clients. */
  forgetsClients: boolean;
  /** Access tokens that are valid now. */
  readonly good: Set<string>;
  /** Refresh tokens that were used a second time. */
  readonly replayed: string[];
  /** Revokes all grants. */
  revoke(): void;
  /** Simulates the browser of a person who grants access. Returns the URL of the redirect. */
  allow(authorizeUrl: string): URL;
  close(): Promise<void>;
}

export async function startOAuthServer(): Promise<TestOAuthServer> {
  const codes = new Map<string, URLSearchParams>();
  const refreshTokens = new Map<string, boolean>();
  const http = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: TestOAuthServer = {
    ...{ issuer, requests: [], expiresIn: 3_600, refreshMs: 0, forgetsClients: false, good: new Set(), replayed: [] },
    metadata: {
      ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
      registration_endpoint: `${issuer}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
      authorization_response_iss_parameter_supported: true,
    },
    revoke() {
      server.good.clear();
      refreshTokens.clear();
    },
    allow(authorizeUrl) {
      const asked = new URL(authorizeUrl).searchParams;
      const code = randomBytes(16).toString('hex');
      codes.set(code, asked);
      const back = new URL(asked.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', asked.get('state') ?? '');
      back.searchParams.set('iss', issuer);
      return back;
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '/';
    const params = new URLSearchParams(body);
    server.requests.push({ path, params, body });
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path === '/.well-known/oauth-authorization-server') return void send(200, server.metadata);
    if (path === '/register')
      return void send(201, { ...JSON.parse(body), client_id: `client-${randomBytes(4).toString('hex')}` });
    if (path !== '/token') return void send(404, {});
    if (server.forgetsClients) return void send(401, { error: 'invalid_client' });
    if (params.get('grant_type') === 'refresh_token') return refresh(params, send);
    const asked = codes.get(params.get('code') ?? '');
    codes.delete(params.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(params.get('code_verifier') ?? '')
      .digest('base64url');
    const fits = ['client_id', 'redirect_uri', 'resource'].every((name) => asked?.get(name) === params.get(name));
    if (asked?.get('code_challenge') !== challenge || !fits) return void send(400, { error: 'invalid_grant' });
    send(200, tokens());
  }

  async function refresh(params: URLSearchParams, send: (status: number, value: unknown) => unknown): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, server.refreshMs));
    const token = params.get('refresh_token') ?? '';
    if (refreshTokens.get(token) !== true) {
      // Following RFC 9700, a token that is used twice ends the whole grant.
      server.replayed.push(token);
      for (const one of refreshTokens.keys()) refreshTokens.set(one, false);
      return void send(400, { error: 'invalid_grant' });
    }
    refreshTokens.set(token, false);
    send(200, tokens());
  }

  function tokens() {
    const [accessToken, refreshToken] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
    server.good.add(accessToken);
    refreshTokens.set(refreshToken, true);
    const expires = { token_type: 'Bearer', expires_in: server.expiresIn };
    return { access_token: accessToken, refresh_token: refreshToken, ...expires };
  }

  return server;
}
