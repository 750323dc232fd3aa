import type { Client } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import Router from '@koa/router';
import type { Settings } from '../config.js';
import type { Route } from '../routes.js';
import { mountDocs } from './docs.js';
import { type Health, mountHealth } from './health.js';

export interface OpenParts {
  readonly settings: Settings;
  readonly routes: readonly Route[];
  readonly auth: Client<AuthService>;
  readonly cookieName: string;
  readonly health: Health;
}

/** What is served without a credential. */
export function createOpenPages(parts: OpenParts): Router {
  const router = new Router();
  mountHealth(router, parts.health);
  mountDocs(router, parts.routes, parts.settings.publicUrl);
  return router;
}
