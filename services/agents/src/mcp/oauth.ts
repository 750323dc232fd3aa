import { createHash, randomBytes } from 'node:crypto';
import type { Guard } from '@commonplace/kit/fetch';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import type { McpAuthorizationRecord, McpServerRecord } from '../stores/mcp-servers.js';
import { challengeOf } from './challenge.js';
import { registeredClient } from './clients.js';
import { McpFailure, mcpFailure } from './failure.js';
import { McpHttp } from './http.js';
import { loadLibrary } from './library.js';
import { AUTHORIZATION_MS, CHALLENGE_MS, DISCOVERY_MS, MAX_OAUTH_BYTES } from './limits.js';
import type { McpParts } from './parts.js';
import { seal, secretsOf } from './secrets.js';

/** Path that authorization servers redirect people to. */
const CALLBACK_PATH = '/auth/mcp/callback';
/** Path of the document that describes this client to authorization servers; its URL is the id of the client. */
const CLIENT_DOCUMENT_PATH = '/.well-known/oauth-client/mcp';

/** An authorization server as it describes itself, and this client's registration there. */
export interface Registration {
  readonly issuer: string;
  readonly metadata?: AuthorizationServerMetadata | undefined;
  readonly client: OAuthClientInformationMixed;
  /** What is added to the paths of the redirect and the client document; see `redirectKeyOf`. */
  readonly redirectKey?: string | undefined;
  /** The resource that the tokens are for (RFC 8707). */
  readonly resource: string;
}

/** The data needed to complete an authorization. */
export interface PendingAuthorization extends Registration {
  readonly codeVerifier: string;
  /** The URL of the MCP server that it was begun for; absent if an earlier version began it. */
  readonly serverUrl?: string | undefined;
}

/** An authorization that was begun, and the URL of the page where a person grants it. */
export interface StartedAuthorization {
  readonly url: string;
  readonly state: string;
  readonly pending: PendingAuthorization;
}

type OAuthParts = Pick<McpParts, 'mcpGuard' | 'envelope' | 'settings' | 'mcpClients' | 'store'>;

/** Returns the redirect URI with a key; the common one without. */
export const redirectUri = ({ settings }: Pick<McpParts, 'settings'>, key = ''): string =>
  settings.publicUrl + CALLBACK_PATH + suffixOf(key);

const suffixOf = (key: string): string => (key === '' ? '' : `/${key}`);

/** Returns whether an authorization server names itself in its redirects (RFC 9207). */
const namesItself = (metadata: AuthorizationServerMetadata | undefined): boolean =>
  (metadata as { readonly authorization_response_iss_parameter_supported?: boolean } | undefined)
    ?.authorization_response_iss_parameter_supported === true;

/**
 * Returns what distinguishes the redirect URI of an authorization server. One that does not name itself in its redirects
 * has a redirect URI of its own, as otherwise an attacker's server could send people on to it, and be sent its code
 * (RFC 9700, 4.4). A client that the owner has registered there knows the common one only.
 */
function redirectKeyOf(
  { auth }: McpServerRecord,
  issuer: string,
  metadata: AuthorizationServerMetadata | undefined,
): string {
  if (namesItself(metadata) || auth.clientId !== undefined) return '';
  return createHash('sha256').update(issuer).digest('base64url').slice(0, REDIRECT_KEY_LENGTH);
}

const REDIRECT_KEY_LENGTH = 22;

/** Creates a guarded connection to an authorization server. */
export function oauthHttp(guard: Guard, timeoutMs: number): McpHttp {
  return new McpHttp(guard, { maxBytes: MAX_OAUTH_BYTES, signal: AbortSignal.timeout(timeoutMs) });
}

/**
 * Finds the authorization server of an MCP server, registers there if necessary, and begins an authorization. Throws
 * `McpFailure`.
 */
export async function beginAuthorization(parts: OAuthParts, server: McpServerRecord): Promise<StartedAuthorization> {
  const guard = await parts.mcpGuard.of(server.tenant);
  const { resourceMetadataUrl, scope: asked } = await challengeOf(oauthHttp(guard, CHALLENGE_MS), server.url);
  const { discoverOAuthServerInfo, startAuthorization } = await loadLibrary();
  const http = oauthHttp(guard, DISCOVERY_MS);
  try {
    const found = await discoverOAuthServerInfo(server.url, {
      fetchFn: http.fetch,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    });
    const metadata = found.authorizationServerMetadata;
    const issuer = metadata?.issuer ?? found.authorizationServerUrl;
    const resource = resourceOf(server.url, found.resourceMetadata?.resource);
    const scope = scopeOf(server, asked, found.resourceMetadata?.scopes_supported);
    const redirectKey = redirectKeyOf(server, issuer, metadata);
    const client = await clientFor(parts, server, {
      ...{ url: found.authorizationServerUrl, issuer, metadata, redirectKey, scope, http },
    });
    const state = randomBytes(32).toString('base64url');
    const { authorizationUrl, codeVerifier } = await startAuthorization(found.authorizationServerUrl, {
      ...(metadata !== undefined && { metadata }),
      ...{ clientInformation: client, redirectUrl: redirectUri(parts, redirectKey), state, resource },
      ...(scope !== undefined && { scope }),
    });
    // People open this page, so the same rules apply to it as to URLs that the server calls itself.
    guard.check(authorizationUrl.href);
    const registration = { issuer, metadata: metadata && neededOf(metadata), client, redirectKey, resource };
    const pending = { ...registration, codeVerifier, serverUrl: server.url };
    return { url: authorizationUrl.href, state, pending };
  } catch (error) {
    throw await oauthFailure(error, http);
  }
}

/** Converts an error of a request to an authorization server into a failure. */
export async function oauthFailure(error: unknown, http: McpHttp): Promise<McpFailure> {
  if (error instanceof McpFailure) return error;
  if (error instanceof Error && error.name === 'UrlNotAllowed') return new McpFailure('refused', error.message);
  const failure = await mcpFailure(error, http);
  const isOurs = http.refusal !== undefined || http.tooLarge || !(error instanceof Error);
  const what = isOurs || http.status === undefined ? failure.message : describe(error);
  return new McpFailure(failure.kind === 'refused' ? 'refused' : 'auth', `The authorization has failed: ${what}`);
}

/** Returns the message of a library's error, which describes a faulty document or answer. It never contains tokens. */
function describe({ message }: Error): string {
  return message.replace(/\s+/g, ' ').slice(0, 200);
}

/**
 * Returns the resource to request tokens for, as named by the server. It must be a part of the configured server, since
 * a server could otherwise name another resource and get tokens for it.
 */
function resourceOf(serverUrl: string, named: string | undefined): string {
  const own = new URL(serverUrl);
  own.hash = '';
  if (named === undefined) return own.href;
  const given = URL.canParse(named) ? new URL(named) : undefined;
  const isPart =
    given !== undefined &&
    given.origin === own.origin &&
    `${own.pathname}/`.startsWith(`${given.pathname.replace(/\/$/, '')}/`);
  if (!isPart) throw new McpFailure('auth', 'The server names another resource than its own for tokens.');
  return named;
}

/**
 * Returns the scopes to request: the owner's, otherwise those of the server's challenge, otherwise all that it
 * supports.
 */
function scopeOf(
  { auth }: McpServerRecord,
  asked: string | undefined,
  known: string[] | undefined,
): string | undefined {
  if (auth.scopes.length > 0) return auth.scopes.join(' ');
  return asked ?? (known === undefined || known.length === 0 ? undefined : known.join(' '));
}

interface Place {
  readonly url: string;
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  readonly redirectKey: string;
  readonly scope: string | undefined;
  readonly http: McpHttp;
}

/**
 * Returns this client's registration at an authorization server: entered by the owner, given by the client document, or
 * made by dynamic registration.
 */
async function clientFor(
  parts: OAuthParts,
  server: McpServerRecord,
  { url, issuer, metadata, redirectKey, scope, http }: Place,
): Promise<OAuthClientInformationMixed> {
  const { clientId } = server.auth;
  if (clientId !== undefined) {
    const { clientSecret } = secretsOf(parts.envelope, server);
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  }
  const { publicUrl } = parts.settings;
  if (metadata?.client_id_metadata_document_supported === true && publicUrl.startsWith('https:')) {
    return { client_id: `${publicUrl}${CLIENT_DOCUMENT_PATH}${suffixOf(redirectKey)}.json` };
  }
  const { registerClient } = await loadLibrary();
  const redirect = redirectUri(parts, redirectKey);
  return registeredClient(parts, server, { issuer, redirectUri: redirect }, () =>
    registerClient(url, {
      ...(metadata !== undefined && { metadata }),
      clientMetadata: clientMetadata(publicUrl, redirect),
      ...(scope !== undefined && { scope }),
      fetchFn: http.fetch,
    }),
  );
}

/** Returns the metadata that describe this client to authorization servers. */
function clientMetadata(publicUrl: string, redirect: string) {
  return {
    client_name: 'Commonplace',
    client_uri: publicUrl,
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** Returns the part of an authorization server's metadata that later requests need. */
function neededOf(metadata: AuthorizationServerMetadata): AuthorizationServerMetadata {
  const { issuer, authorization_endpoint, token_endpoint, response_types_supported } = metadata;
  const { token_endpoint_auth_methods_supported } = metadata as {
    readonly token_endpoint_auth_methods_supported?: string[];
  };
  return {
    ...{ issuer, authorization_endpoint, token_endpoint, response_types_supported },
    ...(token_endpoint_auth_methods_supported && { token_endpoint_auth_methods_supported }),
    ...(namesItself(metadata) && { authorization_response_iss_parameter_supported: true }),
  } as AuthorizationServerMetadata;
}

/**
 * Returns the record id for a state. Since possession of the state is sufficient to use it, only its hash is stored.
 */
export const authorizationId = (state: string): string => createHash('sha256').update(state).digest('base64url');

/** Stores a pending authorization for the person who has to complete it. */
export function storeAuthorization(
  { mcpAuthorizations, envelope }: Pick<McpParts, 'mcpAuthorizations' | 'envelope'>,
  work: UnitOfWork,
  { id: serverId, tenant }: Pick<McpServerRecord, 'id' | 'tenant'>,
  { state, pending }: StartedAuthorization,
  person: { readonly userId: string; readonly sessionId?: string | undefined },
): McpAuthorizationRecord {
  const id = authorizationId(state);
  return work.insert(mcpAuthorizations, {
    ...{ id, tenant, serverId, userId: person.userId, sessionId: person.sessionId },
    sealed: seal(envelope, { id, tenant }, pending),
    expiresAt: new Date(Date.now() + AUTHORIZATION_MS).toISOString(),
  });
}
