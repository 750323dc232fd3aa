import type { EndedSessions } from '@commonplace/kit/http';
import type { Client } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { FormPageService } from '@commonplace/proto/resources/v1/form_page_service.js';
import { mountAccount } from '@commonplace/site/account';
import { type ApprovalParts, mountApprovals } from '@commonplace/site/approvals';
import type { AuthParts } from '@commonplace/site/auth';
import { createSessionCookie, mountAuth } from '@commonplace/site/auth';
import { mountForms } from '@commonplace/site/forms';
import { FORM_SCRIPT, ICON, mountAssets, PASSKEY_SCRIPT, STYLES } from '@commonplace/site/page';
import Router from '@koa/router';
import type { Settings } from '../config.js';
import type { Route } from '../routes.js';
import { createAuthMessages } from './auth-messages.js';
import { type BlobParts, mountBlobs } from './blobs/mount.js';
import { mountDocs } from './docs.js';
import { type Health, mountHealth } from './health.js';
import { mountProtectedResource } from './protected-resource.js';

export interface OpenParts {
  readonly settings: Settings;
  readonly routes: readonly Route[];
  readonly auth: Client<AuthService>;
  readonly security: AuthParts['security'];
  readonly apiKeys: AuthParts['apiKeys'];
  readonly invitations: AuthParts['invitations'];
  readonly connectors: AuthParts['connectors'];
  readonly approvals: ApprovalParts['approvals'];
  readonly mcpServers: AuthParts['mcpServers'];
  readonly cookieName: string;
  readonly ended: EndedSessions;
  readonly health: Health;
  readonly bytes: BlobParts['bytes'];
  readonly share: BlobParts['share'];
  readonly formPages: Client<FormPageService>;
}

/** Creates the router of all routes without a credential. */
export function createOpenPages(parts: OpenParts): Router {
  const { settings, routes, auth, security, apiKeys, invitations, connectors, mcpServers, cookieName, ended } = parts;
  const [first] = routes;
  if (first === undefined) throw new Error('the contract has no endpoints');
  const router = new Router();
  mountHealth(router, parts.health);
  mountAssets(router, [STYLES, ICON, FORM_SCRIPT, PASSKEY_SCRIPT]);
  mountDocs(router, settings.publicUrl);
  mountBlobs(router, {
    bytes: parts.bytes,
    share: parts.share,
    contentUrl: settings.contentUrl,
    timeoutMs: settings.requestTimeoutMs,
  });
  mountForms(router, {
    formPages: parts.formPages,
    bodyBytes: settings.bodyBytes,
    timeoutMs: settings.requestTimeoutMs,
    refusalOf: ({ state }) => state.formRefusal,
  });
  mountProtectedResource(router, settings.publicUrl);
  const authParts: AuthParts = {
    auth,
    security,
    apiKeys,
    invitations,
    connectors,
    mcpServers,
    ended,
    messages: createAuthMessages(first.contract),
    cookie: createSessionCookie(cookieName, settings.publicUrl.startsWith('https:')),
    publicUrl: settings.publicUrl,
    publicOrigin: new URL(settings.publicUrl).origin,
    timeoutMs: settings.requestTimeoutMs,
  };
  mountAuth(router, authParts);
  mountAccount(router, authParts);
  mountApprovals(router, { ...authParts, approvals: parts.approvals });
  return router;
}
