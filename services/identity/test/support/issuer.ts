import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** A fake issuer that also does what no real one would. */
export interface OddIssuer {
  readonly url: string;
  /** Responses by path, in addition to the keys; a bare status is an error. */
  readonly answers: Map<string, unknown>;
  /** Paths that were requested. */
  readonly requests: string[];
  sign(claims: JWTPayload, header?: { alg?: string; kid?: string; typ?: string }): Promise<string>;
  /** Replaces the signing key with a new one. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

export async function openOddIssuer(): Promise<OddIssuer> {
  const requests: string[] = [];
  const answers = new Map<string, unknown>();
  let keys = await generateKeyPair('ES256');
  let kid = 'one';

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? '';
    requests.push(path);
    const found = answers.get(path);
    response.statusCode = typeof found === 'number' ? found : found === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(found ?? {}));
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const publish = async () => answers.set('/jwks', { keys: [{ ...(await exportJWK(keys.publicKey)), kid }] });
  await publish();
  answers.set('/.well-known/openid-configuration', { issuer: url, jwks_uri: `${url}/jwks` });
  return {
    url,
    answers,
    requests,
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(keys.privateKey),
    async rotate() {
      keys = await generateKeyPair('ES256');
      kid = `${kid}+`;
      await publish();
    },
    close: () => new Promise((done) => server.close(() => done())),
  };
}
