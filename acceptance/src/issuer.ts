import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** An identity provider on loopback. */
export interface Issuer {
  readonly url: string;
  /** Returns a signed token for a subject. It is valid for five minutes; `claims` override the defaults. */
  token(subject: string, claims?: JWTPayload): Promise<string>;
  stop(): Promise<void>;
}

const KEY_ID = 'key-1';

/** Starts an identity provider with OpenID Connect discovery. Its tokens are for one audience. */
export async function startIssuer(audience: string): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: 'ES256', use: 'sig' };
  let url = '';
  const server = createServer((request, response) => {
    const answers: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/jwks` },
      '/jwks': { keys: [jwk] },
    };
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    token(subject, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: url, aud: audience, sub: subject, iat: now, exp: now + 300, ...claims };
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: KEY_ID }).sign(privateKey);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
