import type { ReaderPasswordRequired } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { isBytesHost, type Place, type ReaderParts } from './parts.js';
import { sendElsewhere, sendOnce } from './send.js';
import { gatePage } from './view/plain.js';

/**
 * Sends the password form. The host of uploaded content accepts no passwords, so a request there without a pass, for
 * example to a forwarded address, is redirected to the page that contains the frame.
 */
export function sendGate(ctx: Context, parts: ReaderParts, { address }: Place, gate: ReaderPasswordRequired): void {
  if (isBytesHost(parts, address.host)) sendElsewhere(ctx, new URL(gate.path, parts.publicUrl).href);
  else {
    // The status is not 401, because 401 requires an HTTP authentication scheme, and none exists for forms.
    sendOnce(ctx, 403, gatePage({ ...gate, next: ctx.path + ctx.search }));
  }
}
