import { ReaderFormat, type ReaderMissing } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { sendMissing } from './missing.js';
import { callOf, type Place, type ReaderParts } from './parts.js';

/** Redirects to the new address of a page, with the query of the request. */
export function sendMoved(ctx: Context, location: string): void {
  ctx.status = 301;
  ctx.set('Location', location + ctx.search);
  ctx.set('Cache-Control', 'public, max-age=60');
  ctx.set('X-Robots-Tag', 'noindex');
  ctx.body = '';
}

/** Responds about a search or a file of nothing: redirects if the slug of the publication was changed. */
export async function sendMovedOrMissing(
  ctx: Context,
  parts: ReaderParts,
  { address, path }: Place,
  missing: ReaderMissing | undefined,
): Promise<void> {
  const request = { address, path, format: ReaderFormat.HTML, offset: 0, limit: 1 };
  const { redirect } = await parts.reader.readPage(request, callOf(ctx, parts));
  if (redirect === undefined) sendMissing(ctx, missing);
  else sendMoved(ctx, redirect.location);
}
