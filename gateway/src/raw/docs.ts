import type Router from '@koa/router';
import { changelogPage, noChangelogPage, readChangelog } from '../docs/changelog.js';
import { createDocs, DOCS_CSP } from '../docs/pages.js';
import { createOpenApi } from '../openapi/document.js';
import type { Route } from '../routes.js';
import { SERVER_VERSION } from '../version.js';

const TITLE = 'Commonplace API';
const OPENAPI_PATH = '/api/v1/openapi.json';
const MAX_AGE = 'public, max-age=300';

/** The description of the API, for machines and for people. */
export function mountDocs(router: Router, routes: readonly Route[], publicUrl: string): void {
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
