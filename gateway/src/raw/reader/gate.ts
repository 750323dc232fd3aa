import type { ReaderPasswordRequired } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { gatePage } from '../../pages/reader/plain.js';
import { isBytesHost, type Place, type ReaderParts } from './parts.js';
import { sendElsewhere, sendOnce } from './send.js';

/**
 * Asks for the password. Not under the host of users' bytes, where none is taken: whoever comes there without what opens
 * it, as by an address that was passed on, is led to the page that it is part of.
 */
export function sendGate(ctx: Context, parts: ReaderParts, { address }: Place, gate: ReaderPasswordRequired): void {
  if (isBytesHost(parts, address.host)) sendElsewhere(ctx, new URL(gate.path, parts.publicUrl).href);
  else {
    ctx.set('WWW-Authenticate', 'Form');
    sendOnce(ctx, 401, gatePage({ ...gate, next: ctx.path }));
  }
}
