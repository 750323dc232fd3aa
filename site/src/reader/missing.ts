import type { ReaderMissing } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { sendOnce } from './send.js';
import { sendToSignIn } from './share-links.js';
import { missingPage } from './view/plain.js';

/** Responds that the page does not exist, or redirects to the sign-in page if signing in may give access. */
export function sendMissing(ctx: Context, missing: ReaderMissing | undefined, status = 404): void {
  if (missing?.signIn) sendToSignIn(ctx);
  else sendOnce(ctx, status, missingPage(missing?.gone ?? false));
}
