import { boundedFetch } from '@commonplace/kit/fetch';
import * as oauth from 'oauth4webapi';
import { UPSTREAM_MS } from '../config.js';
import type { OAuthClient } from './oauth-clients.js';

/** Secrets that bind an authorization to its initiator; they are stored until the person comes back. */
export interface Pending {
  readonly verifier: string;
  readonly nonce: string;
}

/** The tokens of a grant. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
}

/** The tokens and scopes that an external system has granted. */
export interface Grant extends Tokens {
  readonly accountLabel?: string;
  readonly scopes: readonly string[];
  /** Lifetime of the access token in seconds. */
  readonly expiresIn?: number;
}

/** Thrown if the external system refuses or its response is unusable. `reason` contains no secret. */
export class AuthorizationFailed extends Error {
  constructor(
    readonly reason: string,
    /** Whether the person has denied access. */
    readonly denied = false,
  ) {
    super(reason);
    this.name = 'AuthorizationFailed';
  }
}

/**
 * Begins an authorization (RFC 6749 with PKCE, RFC 7636). Returns the URL for the person and the secrets to store.
 */
export async function beginAuthorization(
  client: OAuthClient,
  state: string,
  redirectUri: string,
): Promise<{ url: string; pending: Pending }> {
  const pending = { verifier: oauth.generateRandomCodeVerifier(), nonce: oauth.generateRandomNonce() };
  const url = new URL(client.authorizeUrl);
  const parameters = {
    ...client.parameters,
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    ...(client.scopes.length === 0 ? {} : { scope: client.scopes.join(' ') }),
    ...(client.scopes.includes('openid') ? { nonce: pending.nonce } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, pending };
}

/** Exchanges the code in the redirect's query for tokens. Throws AuthorizationFailed for every failure. */
export async function finishAuthorization(
  client: OAuthClient,
  query: URLSearchParams,
  state: string,
  redirectUri: string,
  { verifier, nonce }: Pending,
): Promise<Grant> {
  const [server, self] = [serverOf(client), { client_id: client.clientId }];
  try {
    const parameters = oauth.validateAuthResponse(server, self, query, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      self,
      authOf(client),
      parameters,
      redirectUri,
      verifier,
      requestOptions(client.tokenUrl, AbortSignal.timeout(UPSTREAM_MS)),
    );
    const answer = await oauth.processAuthorizationCodeResponse(server, self, response, {
      ...(client.scopes.includes('openid') ? { expectedNonce: nonce } : {}),
      recognizedTokenTypes: KINDS_OF_BEARER,
    });
    return grantOf(answer, client);
  } catch (error) {
    // The library's errors may contain the response, and with it the tokens.
    throw asFailure(error);
  }
}

/** Revokes a grant (RFC 7009). Returns whether the external system confirmed it before `signal` aborts. */
export async function revokeGrant(
  client: OAuthClient,
  { accessToken, refreshToken }: Tokens,
  signal: AbortSignal,
): Promise<boolean> {
  if (client.revokeUrl === undefined) return false;
  // Revoking a refresh token also revokes the access tokens issued from it (RFC 7009, 2.1).
  const token = refreshToken ?? accessToken;
  try {
    const self = { client_id: client.clientId };
    const options = requestOptions(client.revokeUrl, signal);
    const response = await oauth.revocationRequest(serverOf(client), self, authOf(client), token, options);
    await oauth.processRevocationResponse(response);
    return true;
  } catch {
    return false;
  }
}

/** Token types that are used like bearer tokens but have another name (Slack). */
const KINDS_OF_BEARER = { bot: () => {}, user: () => {} };

/** Returns the server's metadata. Redirects and identity tokens that name another issuer are refused. */
function serverOf({ issuer, authorizeUrl, tokenUrl, revokeUrl }: OAuthClient): oauth.AuthorizationServer {
  return {
    issuer,
    authorization_endpoint: authorizeUrl,
    token_endpoint: tokenUrl,
    ...(revokeUrl === undefined ? {} : { revocation_endpoint: revokeUrl }),
  };
}

function authOf({ clientAuth, clientSecret }: OAuthClient): oauth.ClientAuth {
  return clientAuth === 'basic' ? oauth.ClientSecretBasic(clientSecret) : oauth.ClientSecretPost(clientSecret);
}

/** Returns the request options. They allow http because the settings accept it for loopback addresses only. */
function requestOptions(url: string, signal: AbortSignal) {
  return {
    signal,
    [oauth.allowInsecureRequests]: url.startsWith('http:'),
    [oauth.customFetch]: boundedFetch,
  };
}

/** Maximum number of granted scopes that are stored, and of characters of each. */
const MAX_SCOPES = 200;
const MAX_SCOPE_CHARS = 255;

function grantOf(answer: oauth.TokenEndpointResponse, client: OAuthClient): Grant {
  const label = labelOf(answer);
  const scope = typeof answer.scope === 'string' ? answer.scope.split(/[\s,]+/).filter((one) => one !== '') : undefined;
  return {
    accessToken: answer.access_token,
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
    ...(label === undefined ? {} : { accountLabel: label.slice(0, 255) }),
    scopes: (scope ?? client.scopes).filter((one) => one.length <= MAX_SCOPE_CHARS).slice(0, MAX_SCOPES),
    ...(answer.expires_in === undefined ? {} : { expiresIn: answer.expires_in }),
  };
}

/**
 * Returns a label for the account: from the identity token, else from what Notion and Slack return next to the
 * token.
 */
function labelOf(answer: oauth.TokenEndpointResponse): string | undefined {
  const claims = oauth.getValidatedIdTokenClaims(answer);
  const team = answer.team as Record<string, unknown> | undefined;
  const candidates = [
    claims?.email,
    claims?.preferred_username,
    claims?.name,
    answer.workspace_name,
    team?.name,
    claims?.sub,
  ];
  return candidates.find((one): one is string => typeof one === 'string' && one !== '');
}

function asFailure(error: unknown): AuthorizationFailed {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const code = /^[\w.-]{1,64}$/.test(error.error) ? error.error : 'error';
    return new AuthorizationFailed(code, code === 'access_denied');
  }
  const timedOut = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
  const broken = error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError;
  return new AuthorizationFailed(timedOut ? 'timeout' : broken ? 'invalid_answer' : 'unreachable');
}
