// Runs an authorization server (oidc-provider) in a separate process. Everybody has the account that the settings name,
// and agrees to everything or denies everything.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { ProviderSettings } from './provider.js';

const {
  clientId,
  clientSecret,
  redirectUri,
  authentication = 'client_secret_post',
  email,
} = JSON.parse(process.argv[2] ?? '') as ProviderSettings;

const server = createServer().listen(0, '127.0.0.1', async () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: authentication,
      },
    ],
    scopes: ['openid', 'email', 'profile', 'offline_access'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id, email, email_verified: true }) }),
    issueRefreshToken: async () => true,
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  });
  const callback = provider.callback();
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response);
    const { params, prompt } = await provider.interactionDetails(request, response);
    if (denies) {
      return provider.interactionFinished(request, response, { error: 'access_denied' });
    }
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
    const grant = new provider.Grant({ accountId: 'ada', clientId });
    grant.addOIDCScope(String(params.scope));
    const result = { consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  });
  process.send?.({ issuer });
});

let denies = false;
process.on('message', (message: { denies: boolean }) => {
  denies = message.denies;
});
process.on('disconnect', () => process.exit(0));
