import { boundedFetch } from '@commonplace/kit/fetch';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';
import { IssuerUnavailable, OidcRefused } from '../errors.js';
import type { RequiredAuthentication } from './issuers.js';
import { DISCOVERY_MS, FETCH_MS } from './provider.js';

/** Milliseconds within which a person must complete the sign-in at the identity provider. */
export const FLOW_MS = 10 * 60_000;
const SCOPE = 'openid email profile';

/** The state that a browser keeps between the two redirects of a sign-in. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly next: string;
  /** Epoch milliseconds. */
  readonly expires: number;
}

export interface OidcTokens {
  readonly accessToken: string;
  readonly claims: Readonly<Record<string, unknown>> & { readonly sub: string };
}

/** Signs browsers in at an identity provider by the authorization code flow with PKCE, state and nonce. */
export interface BrowserClient {
  begin(next: string): Promise<{ readonly url: string; readonly flow: Flow }>;
  /**
   * Exchanges the code in a redirect's query for tokens. Throws if state, nonce, signature or code do not match the
   * flow.
   */
  complete(query: string, flow: Flow): Promise<OidcTokens>;
}

interface BrowserClientSettings extends RequiredAuthentication {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly redirectUrl: string;
}

export function createBrowserClient(
  { issuer, clientId, clientSecret, redirectUrl, acrValues, maxAgeSeconds }: BrowserClientSettings,
  now: () => number,
): BrowserClient {
  let discovered: Promise<Configuration> | undefined;
  let freshUntil = 0;

  /** Discovers the identity provider at the first sign-in, again after an hour, and after a failure. */
  async function configuration() {
    const client = await import('openid-client');
    if (now() >= freshUntil) discovered = undefined;
    if (discovered === undefined) freshUntil = now() + DISCOVERY_MS;
    discovered ??= client
      .discovery(
        new URL(issuer),
        clientId,
        undefined,
        clientSecret === undefined ? client.None() : bySecret(client, clientSecret),
        {
          execute: issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
          timeout: FETCH_MS / 1000,
          [client.customFetch]: boundedFetch as CustomFetch,
        },
      )
      .then((config) => {
        client.enableNonRepudiationChecks(config);
        return config;
      });
    try {
      return { client, config: await discovered };
    } catch (cause) {
      discovered = undefined;
      throw IssuerUnavailable({ issuer }, { cause });
    }
  }

  return {
    async begin(next) {
      const { client, config } = await configuration();
      const codeVerifier = client.randomPKCECodeVerifier();
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        codeVerifier,
        next,
        expires: now() + FLOW_MS,
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUrl,
        scope: SCOPE,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        state: flow.state,
        nonce: flow.nonce,
        ...(acrValues.length === 0 ? {} : { acr_values: acrValues.join(' ') }),
        ...(maxAgeSeconds === undefined ? {} : { max_age: String(maxAgeSeconds) }),
      });
      return { url: url.href, flow };
    },

    async complete(query, { state, nonce, codeVerifier }) {
      const { client, config } = await configuration();
      const checks = {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      };
      const tokens = await client
        .authorizationCodeGrant(config, new URL(`${redirectUrl}?${query}`), checks)
        .catch((cause: unknown) => {
          throw OidcRefused({ reason: reasonOf(cause) }, { cause });
        });
      const claims = tokens.claims();
      if (claims === undefined) throw OidcRefused({ reason: 'no_id_token' });
      return { accessToken: tokens.access_token, claims };
    },
  };
}

/**
 * Returns the authentication by the client's secret: in a header (`client_secret_basic`), or in the body if the metadata
 * of the provider name methods and not that one.
 */
function bySecret(client: typeof import('openid-client'), secret: string): ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...request) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    authenticate(server, ...request);
  };
}

/** Returns the protocol's error code if the identity provider has sent one. */
function reasonOf(error: unknown): string {
  const { error: code } = error as { error?: unknown };
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : 'invalid_response';
}
