import { NOTHING_ALLOWED } from '@commonplace/kit/http';
import { createBreathe } from '@commonplace/kit/slices';
import type { IndexedPage } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { escapeAttribute } from '../page/escape.js';
import { callOf, type ReaderParts } from './parts.js';

/** Maximum number of URLs in a sitemap (sitemap protocol). */
const MAX_LISTED = 50_000;
const LIMIT = 100;

/** Serves `robots.txt`, which allows search engines to fetch the pages that may be indexed, and nothing else. */
export async function serveRobots(ctx: Context, parts: ReaderParts): Promise<void> {
  const pages = await indexedOf(ctx, parts);
  const roots = pages.filter(({ isPublication }) => isPublication);
  const [first] = pages;
  send(ctx, 'text/plain; charset=utf-8', [
    'User-agent: *',
    ...roots.flatMap(({ path }) =>
      path === '/' ? ['Allow: /'] : [`Allow: ${path}$`, `Allow: ${path}?`, `Allow: ${path}/`],
    ),
    ...(first === undefined ? [] : ['Allow: /assets/']),
    ...(roots.some(({ path }) => path === '/') ? [] : ['Disallow: /']),
    ...(first === undefined ? [] : ['', `Sitemap: ${new URL('/sitemap.xml', first.url).href}`]),
  ]);
}

/** Serves the sitemap, which lists the pages that search engines may index, with the times of their last changes. */
export async function serveSitemap(ctx: Context, parts: ReaderParts): Promise<void> {
  const pages = await indexedOf(ctx, parts);
  const breathe = createBreathe();
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
  ];
  for (const { url, updatedAt } of pages) {
    const changed = updatedAt === undefined ? '' : `<lastmod>${updatedAt}</lastmod>`;
    lines.push(`<url><loc>${escapeAttribute(url)}</loc>${changed}</url>`);
    await breathe();
  }
  send(ctx, 'application/xml; charset=utf-8', [...lines, '</urlset>']);
}

async function indexedOf(ctx: Context, parts: ReaderParts): Promise<IndexedPage[]> {
  const pages: IndexedPage[] = [];
  let cursor = '';
  do {
    const request = { host: parts.hostOf(ctx), cursor, limit: LIMIT };
    const { items, nextCursor } = await parts.reader.listIndexed(request, callOf(ctx, parts));
    for (const page of items) pages.push(page);
    cursor = nextCursor;
  } while (cursor !== '' && pages.length < MAX_LISTED);
  return pages.slice(0, MAX_LISTED);
}

function send(ctx: Context, contentType: string, lines: readonly string[]): void {
  ctx.status = 200;
  ctx.set('Cache-Control', 'public, max-age=300');
  ctx.set('Content-Security-Policy', `${NOTHING_ALLOWED}; sandbox`);
  ctx.set('Content-Type', contentType);
  ctx.body = `${lines.join('\n')}\n`;
}
