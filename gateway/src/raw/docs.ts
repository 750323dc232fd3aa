import type Router from '@koa/router';
import type { Context, Next } from 'koa';
import { HOME_LINKS, homePage } from '../docs/home.js';
import { createLibrary } from '../docs/library.js';
import { createDocs, DOCS_CSP, type DocPage, docFile } from '../docs/pages.js';
import { isHostOf } from '../middleware/host.js';
import { createOpenApi } from '../openapi/document.js';
import { type RecordedExamples, readRecordedExamples } from '../openapi/recorded-examples.js';
import type { Schema } from '../openapi/values.js';
import type { Route } from '../routes.js';
import { SERVER_VERSION } from '../version.js';

const TITLE = 'Commonplace API';
const OPENAPI_PATH = '/api/v1/openapi.json';
const MAX_AGE = 'public, max-age=300';

/** Serves the OpenAPI document and the documentation pages. */
export function mountDocs(router: Router, routes: readonly Route[], publicUrl: string): void {
  mountHome(router, publicUrl);
  let examples: RecordedExamples | undefined;
  const recorded = () => {
    examples ??= readRecordedExamples();
    return examples;
  };
  let document: Schema | undefined;
  const describe = () => {
    const about = { title: TITLE, serverVersion: SERVER_VERSION, serverUrl: publicUrl };
    document ??= createOpenApi(routes, { ...about, examples: recorded() });
    return document;
  };
  const openApi = docFile(OPENAPI_PATH, 'application/json; charset=utf-8', () => JSON.stringify(describe()));
  const fixed = [openApi, ...createDocs({ title: TITLE, openApiPath: OPENAPI_PATH })];
  for (const page of fixed) router.get(page.path, (ctx) => servePage(ctx, page));
  // The pages are listed when the first of them is asked for: a start need not wait for the document.
  let library: Promise<ReadonlyMap<string, DocPage>> | undefined;
  const serve = async (ctx: Context, next: Next) => {
    library ??= createLibrary({ document: describe, examples: recorded(), publicUrl }).then(
      (pages) => new Map(pages.map((page) => [page.path, page])),
    );
    const page = (await library).get(ctx.path);
    return page === undefined ? next() : servePage(ctx, page);
  };
  for (const path of ['/llms.txt', '/docs', '/docs.md', '/docs/:name', '/docs/:folder/:name']) router.get(path, serve);
}

async function servePage(ctx: Context, page: DocPage): Promise<void> {
  ctx.set('Cache-Control', MAX_AGE);
  ctx.set('Content-Security-Policy', page.contentSecurityPolicy);
  ctx.type = page.contentType;
  ctx.body = await page.body();
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
