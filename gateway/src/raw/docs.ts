import { isHostOf } from '@commonplace/kit/http';
import { isSentInTurns, sendInTurns } from '@commonplace/kit/slices';
import { createDocs, DOCS_CSP, HOME_LINKS, homePage, OPENAPI_PATH } from '@commonplace/site/docs';
import type Router from '@koa/router';
import type { Context, Next } from 'koa';
import { createWrittenPages, type WrittenPage } from '../docs/written.js';

const MAX_AGE = 'public, max-age=300';

/** Serves the OpenAPI document and the documentation pages. */
export function mountDocs(router: Router, publicUrl: string): void {
  mountHome(router, publicUrl);
  for (const page of createDocs()) {
    router.get(page.path, async (ctx) => servePage(ctx, { ...page, body: await page.body() }));
  }
  const written = createWrittenPages(publicUrl);
  const serve = async (ctx: Context, next: Next) => {
    const page = await written(ctx.path);
    return page === undefined ? next() : servePage(ctx, page);
  };
  const paths = [OPENAPI_PATH, '/llms.txt', '/docs', '/docs.md', '/docs/:name', '/docs/:folder/:name'];
  for (const path of paths) router.get(path, serve);
}

function servePage(ctx: Context, { contentType, contentSecurityPolicy, body }: WrittenPage): void {
  ctx.set('Cache-Control', MAX_AGE);
  ctx.set('Content-Security-Policy', contentSecurityPolicy);
  ctx.type = contentType;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  ctx.body = isSentInTurns(bytes.length) ? sendInTurns([bytes]) : bytes;
  ctx.length = bytes.length;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;

/**
 * Serves an entry page to people and programs that know only the server's address. Other hosts get nothing, because
 * they may be domains that a publication claims but whose ownership is unproven.
 */
function mountHome(router: Router, publicUrl: string): void {
  const isPublic = isHostOf(publicUrl);
  router.get('/', (ctx, next) => {
    if (!isPublic(ctx) && !LOOPBACK.test(ctx.host)) return next();
    ctx.vary('Accept');
    if (ctx.accepts('html', 'json') === 'json') {
      ctx.set('Cache-Control', 'no-store');
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = JSON.stringify({ data: { name: 'Commonplace', links: HOME_LINKS }, request_id: ctx.state.requestId });
      return undefined;
    }
    ctx.set('Cache-Control', MAX_AGE);
    ctx.set('Content-Security-Policy', DOCS_CSP);
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = homePage();
    return undefined;
  });
}
