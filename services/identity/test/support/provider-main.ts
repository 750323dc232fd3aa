// Runs an identity provider in its own process: oidc-provider, with a client for each person.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';
import type { ProviderSettings } from './provider.js';

const { people } = JSON.parse(process.argv[2] ?? '') as ProviderSettings;

async function privateKey(alg: string, options: object = {}) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, ...options });
  return { ...(await exportJWK(privateKey)), kid: `key-${alg}`, use: 'sig' };
}

const server = createServer().listen(0, '127.0.0.1', async () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    jwks: {
      keys: [await privateKey('RS256'), await privateKey('ES256'), await privateKey('EdDSA', { crv: 'Ed25519' })],
    },
    clients: Object.keys(people).map((name) => ({
      client_id: name,
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    extraTokenClaims: (_, token) => people[token.clientId ?? ''],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // A resource contains its audience and algorithm: urn:<audience>:<algorithm>.
        getResourceServerInfo: (_, resource) => {
          const [, audience = '', alg] = resource.split(':');
          const scope = 'resource:read search:read admin:everything';
          const jwt = { sign: { alg: alg as 'ES256' } };
          return { scope, audience, accessTokenFormat: 'jwt', accessTokenTTL: 3600, jwt };
        },
      },
    },
  });
  server.on('request', provider.callback());
  process.send?.({ issuer });
});

process.on('disconnect', () => process.exit(0));
