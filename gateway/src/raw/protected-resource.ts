import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import type Router from '@koa/router';
import { PROTECTED_RESOURCE_PATH } from '../middleware/errors.js';

/** Serves the metadata that a client needs before it requests a token (RFC 9728). */
export function mountProtectedResource(router: Router, publicUrl: string): void {
  const document = JSON.stringify({
    resource: publicUrl,
    resource_name: 'Commonplace API',
    resource_documentation: `${publicUrl}/docs`,
    bearer_methods_supported: ['header'],
    scopes_supported: KNOWN_SCOPES,
  });
  router.get(PROTECTED_RESOURCE_PATH, (ctx) => {
    ctx.set('Cache-Control', 'public, max-age=300');
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = document;
  });
}
