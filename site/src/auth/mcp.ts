import { AppError } from '@commonplace/kit/errors';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { authorizedPage, errorPage } from './pages.js';
import { type AuthParts, callOf } from './parts.js';
import { orPage, seeOther, sendPage } from './respond.js';
import { findSession } from './sessions.js';

const CALLBACK = '/auth/mcp/callback';
const DOCUMENT = '/.well-known/oauth-client/mcp';
/** What stands for an issuer in paths: the beginning of a hash in base64url. */
const KEY = /^[\w-]{22}$/;

/**
 * Serves the page to which people return from the authorization server of an MCP server, and the client metadata
 * documents. The URL of such a document is this installation's client id at such servers. Authorization servers that do
 * not name themselves in their redirects have a document and a page of their own, by a key.
 */
export function mountMcp(router: Router, parts: AuthParts): void {
  const { publicUrl } = parts;
  const sendDocument = (ctx: Context, suffix: string): void => {
    ctx.set('Cache-Control', 'public, max-age=300');
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = JSON.stringify({
      client_id: `${publicUrl}${DOCUMENT}${suffix}.json`,
      client_name: 'Commonplace',
      client_uri: publicUrl,
      redirect_uris: [publicUrl + CALLBACK + suffix],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
  };
  router.get(CALLBACK, (ctx) => orPage(ctx, () => complete(ctx, parts, ''), errorPage));
  router.get(`${CALLBACK}/:key`, (ctx) => orPage(ctx, () => complete(ctx, parts, ctx.params.key ?? ''), errorPage));
  router.get(`${DOCUMENT}.json`, (ctx) => sendDocument(ctx, ''));
  router.get(`${DOCUMENT}/:key.json`, (ctx, next) => {
    const { key = '' } = ctx.params;
    return KEY.test(key) ? sendDocument(ctx, `/${key}`) : next();
  });
}

/** Completes the authorization for the signed-in person, who has to be the one that started it. */
async function complete(ctx: Context, parts: AuthParts, redirectKey: string): Promise<void> {
  const session = await findSession(ctx, parts);
  if (session === undefined) return seeOther(ctx, `/auth/sign-in?next=${encodeURIComponent(ctx.url)}`);
  const { clientIp } = ctx.state;
  const call = callOf(ctx, parts);
  const credential = {
    ...{ kind: CredentialKind.SESSION, credential: session.cookie },
    ...{ tenant: '', workspaceId: '', clientIp },
  };
  const { token } = await parts.auth.authenticate(credential, call);
  const query = new URLSearchParams(ctx.querystring);
  const given = (name: string): string => query.get(name) ?? '';
  if (given('state') === '') throw new AppError('NOT_FOUND', 'expired_link', 'This link is no longer valid.');
  const answer = await parts.mcpServers.completeMcpAuthorization(
    { state: given('state'), code: given('code'), iss: given('iss'), error: given('error'), redirectKey },
    { ...call, metadata: { ...call.metadata, token } },
  );
  sendPage(ctx, 200, authorizedPage(answer.serverName, answer.agentName));
}
