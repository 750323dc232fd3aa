import { matchesNone } from '@commonplace/kit/http';
import { isSentInTurns, sendInTurns } from '@commonplace/kit/slices';
import type { Context } from 'koa';
import { readerPolicy } from '../page/policies.js';
import type { Rendered } from './rendered.js';

const HTML = 'text/html; charset=utf-8';
const NOINDEX = 'noindex, nofollow';

/**
 * Returns the headers of a publication's page. The policy prevents other sites from getting its address as referrer.
 */
export function pageHeaders(parts: {
  contentType?: string;
  policy: string;
  indexed: boolean;
  isPrivate: boolean;
}): Record<string, string> {
  const { contentType = HTML, policy, indexed, isPrivate } = parts;
  return {
    'Content-Type': contentType,
    'Content-Security-Policy': policy,
    'Cache-Control': isPrivate
      ? 'private, max-age=0, must-revalidate'
      : 'public, max-age=60, stale-while-revalidate=300',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    ...(indexed ? {} : { 'X-Robots-Tag': NOINDEX }),
  };
}

/** Sends a page, or 304 if the client already has it. */
export function sendRendered(ctx: Context, { etag, headers, body }: Rendered): void {
  const { res } = ctx;
  for (const name in headers) res.setHeader(name, headers[name] as string);
  res.setHeader('ETag', etag);
  const none = ctx.req.headers['if-none-match'];
  if (none !== undefined && matchesNone(none, etag)) {
    res.removeHeader('Content-Type');
    ctx.status = 304;
    return;
  }
  ctx.status = 200;
  if (isSentInTurns(body.length)) {
    ctx.body = sendInTurns([body]);
    ctx.length = body.length;
  } else ctx.body = body;
}

/** Sends a page that is rendered for this request only and must not be cached. */
export function sendOnce(ctx: Context, status: number, html: string): void {
  ctx.status = status;
  ctx.set(pageHeaders({ policy: readerPolicy(), indexed: false, isPrivate: true }));
  ctx.set('Cache-Control', 'no-store');
  ctx.body = html;
}

/** Redirects a reader without caching and without a referrer. */
export function sendElsewhere(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.set('Location', location);
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.set('X-Robots-Tag', NOINDEX);
  ctx.body = '';
}
