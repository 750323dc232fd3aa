import { createHash, randomBytes } from 'node:crypto';
import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { tokenLifetimeMs } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { LostRace } from '@commonplace/kit/store';
import type { CompleteAuthorizationRequest } from '@commonplace/proto/tenancy/v1/connector_service.js';
import { AUTHORIZATION_MS, UPSTREAM_MS } from '../config.js';
import { ExpiredLink } from '../errors.js';
import { publishConnection } from '../events.js';
import type { Parts } from '../parts.js';
import { requireActiveWorkspace, requireWorkspaceRole, type WorkspaceAccess } from '../policy.js';
import { type Authorization, type Connection, type Connector, connectionKey } from '../stores/connectors.js';
import {
  AuthorizationFailed,
  beginAuthorization,
  finishAuthorization,
  type Grant,
  type Pending,
  revokeGrant,
} from '../upstream/oauth.js';
import { clientFor, type OAuthClient } from '../upstream/oauth-clients.js';
import { revokeConnection } from './disconnect.js';

/** Path of the page to which the external system sends people back; its URL is registered there. */
const CALLBACK = '/auth/connectors/callback';

function redirectUri({ settings }: Parts): string {
  return settings.publicUrl + CALLBACK;
}

/**
 * Returns the URL at which the caller grants a connector access. It is valid for ten minutes and for the caller
 * only.
 */
export async function authorizeUrlFor(
  parts: Parts,
  context: CallContext,
  { id: connectorId, tenant, workspaceId }: Connector,
  client: OAuthClient,
): Promise<string> {
  const state = randomBytes(32).toString('base64url');
  const { url, pending } = await beginAuthorization(client, state, redirectUri(parts));
  const id = idOf(state);
  context.work.insert(parts.connectors.authorizations, {
    id,
    tenant,
    workspaceId,
    connectorId,
    userId: context.caller.userId,
    sealed: parts.envelope.seal(JSON.stringify(pending), { tenant, record: id }),
    expiresAt: parts.now(AUTHORIZATION_MS),
  });
  context.once('authorizeUrl');
  return url;
}

/** Returns the record id for a state. Whoever holds a state can use it, so that only its hash is stored. */
function idOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url');
}

/** The outcome of an authorization. */
interface Completed {
  readonly connector: Connector;
  readonly connection?: Connection;
  /** The reason why there is no connection, as the external system's error code. */
  readonly error?: string;
}

/** An authorization whose code was exchanged. */
interface Redeemed {
  readonly connectorId: string;
  readonly client: OAuthClient;
  readonly outcome: Grant | AuthorizationFailed;
}

/**
 * Redeemed authorizations by request. A code can be exchanged once only and a handler may run again, so that a rerun
 * reuses the first result.
 */
const redeemed = new WeakMap<CompleteAuthorizationRequest, Promise<Redeemed>>();

/**
 * Completes an authorization and creates the connection. Throws `expired_link` for anyone but the person who began
 * it, after its expiry, and for all but the first of repeated requests.
 */
export async function completeAuthorization(
  parts: Parts,
  context: CallContext,
  request: CompleteAuthorizationRequest,
): Promise<Completed> {
  const asked = redeemed.get(request) ?? redeem(parts, context.caller, request);
  redeemed.set(request, asked);
  const { connectorId, client, outcome } = await asked;
  try {
    return await complete(parts, context, connectorId, outcome);
  } catch (error) {
    // The person may no longer connect, as when they have left while the external system answered.
    const isKept = outcome instanceof AuthorizationFailed || !(error instanceof AppError);
    if (!isKept) await revokeGrant(client, outcome, AbortSignal.timeout(UPSTREAM_MS));
    throw error;
  }
}

async function complete(
  parts: Parts,
  context: CallContext,
  connectorId: string,
  outcome: Grant | AuthorizationFailed,
): Promise<Completed> {
  const connector = await parts.connectors.records.get(connectorId);
  if (connector === undefined) throw ExpiredLink();
  expectAccess(parts, context, await requireAccess(parts, context.caller, connector));
  if (outcome instanceof AuthorizationFailed) {
    const status = outcome.denied || connector.status === 'active' ? connector.status : 'error';
    const failed = changeConnector(parts, context, connector, { status, lastError: outcome.reason });
    return { connector: failed, error: outcome.reason };
  }
  const active = changeConnector(parts, context, connector, { status: 'active' });
  return { connector: active, connection: await keepGrant(parts, context, connector, outcome) };
}

/**
 * Exchanges the code of a redirect. It uses up the authorization first, so that of repeated redirects only one sends the
 * code: external systems end the grant of a code that is sent twice (RFC 6749, 4.1.2).
 */
async function redeem(parts: Parts, caller: Caller, request: CompleteAuthorizationRequest): Promise<Redeemed> {
  const query = new URLSearchParams(request.query);
  const state = query.get('state') ?? '';
  const { authorization, connector, client } = await findPending(parts, caller, state);
  await requireAccess(parts, caller, connector);
  const { id: record, tenant, sealed } = authorization;
  const pending = JSON.parse(parts.envelope.open(sealed, { tenant, record })) as Pending;
  await useUp(parts, authorization);
  const outcome = await finishAuthorization(client, query, state, redirectUri(parts), pending).catch(
    (error: unknown) => {
      if (error instanceof AuthorizationFailed) return error;
      throw error;
    },
  );
  return { connectorId: connector.id, client, outcome };
}

async function useUp({ store, connectors }: Parts, authorization: Authorization): Promise<void> {
  const work = store.begin();
  work.remove(connectors.authorizations, authorization);
  await work.commit().catch((error: unknown) => {
    throw error instanceof LostRace ? ExpiredLink({}, { cause: error }) : error;
  });
}

async function requireAccess({ policy }: Parts, caller: Caller, { workspaceId }: Connector): Promise<WorkspaceAccess> {
  const access = await policy.seeWorkspace(workspaceId, caller);
  requireWorkspaceRole(access, 'admin');
  requireActiveWorkspace(access.workspace);
  return access;
}

/** Makes the commit fail, and the handler run again, if the person's access has changed by then. */
function expectAccess(
  { workspaces, workspaceMembers, orgMembers }: Parts,
  { work }: CallContext,
  { workspace, place, inOrg }: WorkspaceAccess,
): void {
  work.expect(workspaces.records, workspace);
  if (place !== undefined) work.expect(workspaceMembers.records, place);
  if (inOrg !== undefined) work.expect(orgMembers.records, inOrg.member);
}

async function findPending(
  { connectors, settings, now }: Parts,
  { userId }: Caller,
  state: string,
): Promise<{ authorization: Authorization; connector: Connector; client: OAuthClient }> {
  const authorization = await connectors.authorizations.get(idOf(state));
  if (authorization === undefined || authorization.userId !== userId || authorization.expiresAt <= now()) {
    throw ExpiredLink();
  }
  const connector = await connectors.records.get(authorization.connectorId);
  const client = connector && clientFor(settings, connector.type);
  if (connector === undefined || client === undefined) throw ExpiredLink();
  return { authorization, connector, client };
}

function changeConnector(
  parts: Parts,
  { work }: CallContext,
  connector: Connector,
  change: Pick<Connector, 'status'> & { readonly lastError?: string },
): Connector {
  const { lastError: _, ...rest } = connector;
  return work.replace(parts.connectors.records, connector, { ...rest, ...change, updatedAt: parts.now() });
}

/**
 * Stores the person's connection: a new one, or the existing one with what they have granted now. If that is another
 * account, the grant of the previous one is revoked, since no connection remains by which it could be.
 */
async function keepGrant(
  parts: Parts,
  context: CallContext,
  { id: connectorId, tenant, workspaceId, type }: Connector,
  grant: Grant,
): Promise<Connection> {
  const { connections, connectionOfPerson } = parts.connectors;
  const { userId } = context.caller;
  const before = await connectionOfPerson(connectorId, userId);
  const [id, now] = [before?.id ?? newId(), parts.now()];
  const { accessToken, refreshToken, accountLabel, expiresIn } = grant;
  const tokens = JSON.stringify({ accessToken, refreshToken });
  const record = {
    id,
    tenant,
    workspaceId,
    connectorId,
    type,
    userId,
    personKey: connectionKey(connectorId, userId),
    ...(accountLabel === undefined ? {} : { accountLabel }),
    scopes: grant.scopes,
    status: 'active' as const,
    sealed: parts.envelope.seal(tokens, { tenant, record: id }),
    renewable: refreshToken !== undefined,
    connectedBy: context.actor,
    ...(expiresIn === undefined ? {} : { expiresAt: parts.now(tokenLifetimeMs(expiresIn)) }),
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  };
  if (before !== undefined) {
    if (isOtherAccount(before, grant)) await revokeConnection(parts, before, AbortSignal.timeout(UPSTREAM_MS));
    return context.work.replace(connections, before, record);
  }
  const made = context.work.insert(connections, record);
  publishConnection(context, 'created', made);
  return made;
}

/**
 * Returns whether a grant is certainly for another account. A second grant of the same account may share its tokens with
 * the first, so that revoking the first would end both.
 */
function isOtherAccount({ accountLabel: before }: Connection, { accountLabel: after }: Grant): boolean {
  return before !== undefined && after !== undefined && before !== after;
}
