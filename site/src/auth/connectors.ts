import { AppError } from '@commonplace/kit/errors';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { connectedPage, errorPage } from './pages.js';
import { type AuthParts, callOf } from './parts.js';
import { orPage, seeOther, sendPage } from './respond.js';
import { findSession } from './sessions.js';

/** Serves the OAuth callback, to which people return from a system whose account they connect. */
export function mountConnectors(router: Router, parts: AuthParts): void {
  router.get('/auth/connectors/callback', (ctx) => orPage(ctx, () => complete(ctx, parts), errorPage));
}

/**
 * Completes the connection for the signed-in person, who has to be the one that started it. Otherwise an attacker could
 * send somebody a link that connects their account to the attacker's workspace.
 */
async function complete(ctx: Context, parts: AuthParts): Promise<void> {
  const session = await findSession(ctx, parts);
  if (session === undefined) return seeOther(ctx, `/auth/sign-in?next=${encodeURIComponent(ctx.url)}`);
  const { clientIp } = ctx.state;
  const call = callOf(ctx, parts);
  const credential = {
    kind: CredentialKind.SESSION,
    credential: session.cookie,
    tenant: '',
    workspaceId: '',
    clientIp,
  };
  const { token } = await parts.auth.authenticate(credential, call);
  const answer = await parts.connectors.completeAuthorization(
    { query: ctx.querystring },
    { ...call, metadata: { ...call.metadata, token } },
  );
  if (answer.connectionId === undefined) throw refused(answer.error ?? '');
  sendPage(ctx, 200, connectedPage(answer.connectorName, answer.accountLabel));
}

const DENIED = 'The access was not given. Nothing is connected.';

function refused(error: string): AppError {
  const message = error === 'access_denied' ? DENIED : `The other system did not give access (${error}). Begin again.`;
  return new AppError('FAILED_PRECONDITION', 'connection_inactive', message);
}
