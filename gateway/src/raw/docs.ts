import type Router from '@koa/router';
import { changelogPage, noChangelogPage, readChangelog } from '../docs/changelog.js';
import { HOME_LINKS, homePage } from '../docs/home.js';
import { createDocs, DOCS_CSP } from '../docs/pages.js';
import { isHostOf } from '../middleware/host.js';
import { createOpenApi } from '../openapi/document.js';
import type { Route } from '../routes.js';
import { SERVER_VERSION } from '../version.js';

const TITLE = 'Commonplace API';
const OPENAPI_PATH = '/api/v1/openapi.json';
const MAX_AGE = 'public, max-age=300';

/** Serves the OpenAPI document and the documentation pages. */
export function mountDocs(router: Router, routes: readonly Route[], publicUrl: string): void {
  mountHome(router, publicUrl);
  let document: string | undefined;
  router.get(OPENAPI_PATH, (ctx) => {
    document ??= JSON.stringify(
      createOpenApi(routes, { title: TITLE, serverVersion: SERVER_VERSION, serverUrl: publicUrl }),
    );
    ctx.set('Cache-Control', MAX_AGE);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = document;
  });
  for (const page of createDocs({ title: TITLE, openApiPath: OPENAPI_PATH })) {
    router.get(page.path, async (ctx) => {
      ctx.set('Cache-Control', MAX_AGE);
      ctx.set('Content-Security-Policy', page.contentSecurityPolicy);
      ctx.type = page.contentType;
      ctx.body = await page.body();
    });
  }
  router.get('/docs/changelog', async (ctx) => {
    const changelog = await readChangelog();
    ctx.status = changelog === undefined ? 404 : 200;
    ctx.set('Cache-Control', changelog === undefined ? 'no-store' : MAX_AGE);
    ctx.set('Content-Security-Policy', DOCS_CSP);
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = changelog === undefined ? noChangelogPage() : changelogPage(changelog);
  });
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;

/**
 * Serves an entry page to people and programs that know only the server's address. Other hosts get nothing, because
 * they may be domains that a publication claims but has not proven to own.
 */
function mountHome(router: Router, publicUrl: string): void {
  const isPublic = isHostOf(publicUrl);
  router.get('/', (ctx, next) => {
    if (!isPublic(ctx) && !LOOPBACK.test(ctx.host)) return next();
    ctx.vary('Accept');
    if (ctx.accepts('html', 'json') === 'json') {
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { data: { name: 'Commonplace', links: HOME_LINKS }, request_id: ctx.state.requestId };
      return undefined;
    }
    ctx.set('Cache-Control', MAX_AGE);
    ctx.set('Content-Security-Policy', DOCS_CSP);
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = homePage();
    return undefined;
  });
}
