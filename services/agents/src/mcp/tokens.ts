import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Guard, tokenLifetimeMs } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { McpGrantRecord, McpServerRecord } from '../stores/mcp-servers.js';
import { forgetClient, keepClient } from './clients.js';
import { McpFailure } from './failure.js';
import { loadLibrary } from './library.js';
import { REFRESH_LEASE_MS, TOKEN_MS } from './limits.js';
import { oauthFailure, oauthHttp, type PendingAuthorization, type Registration, redirectUri } from './oauth.js';
import type { McpParts } from './parts.js';
import { seal, unseal } from './secrets.js';

/** The encrypted part of a grant. */
interface GrantSecrets {
  readonly registration: Registration;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
}

type TokenParts = Pick<McpParts, 'mcpGrants' | 'mcpClients' | 'envelope' | 'store' | 'settings' | 'mcpGuard'>;

/** Milliseconds before its expiry at which an access token is refreshed. */
const SPARE_MS = 30_000;
const POLL_MS = 100;

export const OTHER_SERVER = 'The authorization comes from another server.';

/** Returns the id of a person's grant for a server, for one issuer and one resource. */
function grantId(
  serverId: string,
  userId: string,
  { issuer, resource }: Pick<Registration, 'issuer' | 'resource'>,
): string {
  return createHash('sha256')
    .update(JSON.stringify([serverId, userId, issuer, resource]))
    .digest('base64url');
}

/** Exchanges a code for tokens. `iss` is the issuer that the redirect names. Throws `McpFailure`. */
export async function redeemCode(
  parts: TokenParts,
  { id: serverId, tenant }: Pick<McpServerRecord, 'id' | 'tenant'>,
  pending: PendingAuthorization,
  { code, iss }: { readonly code: string; readonly iss: string | undefined },
): Promise<OAuthTokens> {
  const http = oauthHttp(await parts.mcpGuard.of(tenant), TOKEN_MS);
  const { issuer, metadata, client, resource, codeVerifier, redirectKey } = pending;
  const redirect = redirectUri(parts, redirectKey);
  // The library compares the issuer only if there is metadata, which old servers do not have.
  if (metadata === undefined && iss !== undefined && iss !== issuer) {
    throw new McpFailure('auth', OTHER_SERVER);
  }
  try {
    const { exchangeAuthorization } = await loadLibrary();
    const tokens = await exchangeAuthorization(issuer, {
      ...(metadata !== undefined && { metadata }),
      ...{ clientInformation: client, authorizationCode: code, codeVerifier, resource, fetchFn: http.fetch },
      ...(iss !== undefined && { iss }),
      redirectUri: redirect,
    });
    await keepClient(parts, serverId, issuer, redirect);
    return tokens;
  } catch (error) {
    if ((await codeOf(error)) === UNKNOWN_CLIENT) await forgetClient(parts, serverId, issuer, redirect);
    throw await oauthFailure(error, http);
  }
}

/** Stores a grant, and deletes the person's earlier grants for the same server. */
export async function storeGrant(
  { mcpGrants, envelope }: TokenParts,
  work: UnitOfWork,
  { id: serverId, tenant, url: currentUrl }: Pick<McpServerRecord, 'id' | 'tenant' | 'url'>,
  userId: string,
  { codeVerifier: _, serverUrl = currentUrl, ...registration }: PendingAuthorization,
  tokens: OAuthTokens,
): Promise<void> {
  const { issuer, resource } = registration;
  const id = grantId(serverId, userId, registration);
  for (const other of await mcpGrants.find({ where: { serverId, userId }, limit: 10 })) work.remove(mcpGrants, other);
  const now = new Date().toISOString();
  const record = {
    ...{ id, tenant, serverId, userId, url: serverUrl, issuer, resource },
    ...{ isRevoked: false, grantedAt: now, updatedAt: now },
    ...fieldsOf(envelope, { id, tenant }, registration, tokens),
  };
  const before = await work.get(mcpGrants, id);
  if (before === undefined) work.insert(mcpGrants, record);
  else work.replace(mcpGrants, before, record);
}

function fieldsOf(
  envelope: McpParts['envelope'],
  owner: { readonly id: string; readonly tenant: string },
  registration: Registration,
  { access_token, refresh_token, expires_in, scope }: OAuthTokens,
) {
  const secrets: GrantSecrets = { registration, accessToken: access_token, refreshToken: refresh_token, scope };
  return {
    sealed: seal(envelope, owner, secrets),
    renewable: refresh_token !== undefined,
    expiresAt: expires_in === undefined ? undefined : new Date(Date.now() + tokenLifetimeMs(expires_in)).toISOString(),
  };
}

/** Returns the valid grant of a person for a server; undefined if there is none. */
export async function grantOf(
  { mcpGrants }: Pick<McpParts, 'mcpGrants'>,
  { id: serverId, url }: Pick<McpServerRecord, 'id' | 'url'>,
  userId: string,
): Promise<McpGrantRecord | undefined> {
  const grants = await mcpGrants.find({ where: { serverId, userId }, limit: 10 });
  // A grant for another URL is never used for this one.
  return grants.find((grant) => !grant.isRevoked && grant.url === url);
}

/**
 * Returns an access token of a grant. If the token has expired or the server has `rejected` it, it is refreshed. Only
 * one process refreshes at a time while others wait for its result, because a refresh token can be used only once.
 * Throws `McpFailure`.
 */
export async function accessToken(
  parts: TokenParts,
  grantRecordId: string,
  rejected: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const grant = await parts.mcpGrants.get(grantRecordId);
    if (grant === undefined || grant.isRevoked) throw askAgain();
    const secrets = unseal<GrantSecrets>(parts.envelope, grant, grant.sealed);
    const isSpent = grant.expiresAt !== undefined && Date.parse(grant.expiresAt) - SPARE_MS <= Date.now();
    if (secrets.accessToken !== rejected && !isSpent) return secrets.accessToken;
    const { refreshToken } = secrets;
    if (refreshToken === undefined) {
      if (secrets.accessToken === rejected || Date.parse(grant.expiresAt ?? '') <= Date.now()) throw askAgain();
      return secrets.accessToken;
    }
    if (grant.refresh !== undefined && Date.parse(grant.refresh.until) > Date.now()) {
      await sleep(POLL_MS, undefined, { signal, ref: false });
      continue;
    }
    const guard = await parts.mcpGuard.of(grant.tenant);
    const claimed = await claimRefresh(parts, grant);
    if (claimed !== undefined) return refreshAs(parts, guard, claimed, secrets, refreshToken);
  }
}

const askAgain = (): McpFailure => new McpFailure('auth', 'The authorization has expired or was withdrawn.');

/** Takes the lease for refreshing a grant. Returns undefined if another process was faster. */
async function claimRefresh(
  { store, mcpGrants }: TokenParts,
  grant: McpGrantRecord,
): Promise<McpGrantRecord | undefined> {
  const work = store.begin();
  const refresh = { holder: newId(), until: new Date(Date.now() + REFRESH_LEASE_MS).toISOString() };
  const claimed = work.replace(mcpGrants, grant, { ...grant, refresh });
  try {
    await work.commit();
    return claimed;
  } catch (error) {
    if (error instanceof Error && error.name === 'LostRace') return undefined;
    throw error;
  }
}

/** Refreshes the tokens, and stores the new ones before they are used. */
async function refreshAs(
  parts: TokenParts,
  guard: Guard,
  grant: McpGrantRecord,
  { registration, scope }: GrantSecrets,
  refreshToken: string,
): Promise<string> {
  const { issuer, metadata, client, redirectKey, resource } = registration;
  const http = oauthHttp(guard, TOKEN_MS);
  let tokens: OAuthTokens;
  try {
    const { refreshAuthorization } = await loadLibrary();
    tokens = await refreshAuthorization(issuer, {
      ...(metadata !== undefined && { metadata }),
      ...{ clientInformation: client, refreshToken, resource, fetchFn: http.fetch },
    });
  } catch (error) {
    const code = await codeOf(error);
    const isOver = code !== undefined && FINAL.has(code);
    if (code === UNKNOWN_CLIENT) await forgetClient(parts, grant.serverId, issuer, redirectUri(parts, redirectKey));
    await endRefresh(parts, grant, isOver ? { isRevoked: true } : {});
    if (isOver) throw askAgain();
    const failure = await oauthFailure(error, http);
    throw new McpFailure(failure.kind === 'refused' ? 'refused' : 'unreachable', failure.message);
  }
  const kept = tokens.scope === undefined && scope !== undefined ? { ...tokens, scope } : tokens;
  await endRefresh(parts, grant, fieldsOf(parts.envelope, grant, registration, kept));
  return tokens.access_token;
}

/** Returns the code of an error of an authorization server (RFC 6749); undefined for all other errors. */
async function codeOf(error: unknown): Promise<string | undefined> {
  const { OAuthError } = await loadLibrary();
  return OAuthError.isInstance(error) ? error.code : undefined;
}

const UNKNOWN_CLIENT = 'invalid_client';

/** Errors after which the refresh token is no longer valid. */
const FINAL: ReadonlySet<string> = new Set(['invalid_grant', UNKNOWN_CLIENT, 'unauthorized_client']);

/** Writes the result of a refresh and releases the lease, unless another process holds it by now. */
function endRefresh(
  { store, mcpGrants }: TokenParts,
  { id, refresh }: McpGrantRecord,
  change: Partial<McpGrantRecord>,
) {
  return inWork(store, async (work) => {
    const grant = await work.get(mcpGrants, id);
    if (grant === undefined || grant.refresh?.holder !== refresh?.holder) return;
    work.replace(mcpGrants, grant, { ...grant, ...change, refresh: undefined, updatedAt: new Date().toISOString() });
  });
}
