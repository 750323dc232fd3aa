import type { Context } from 'koa';
import { readerPolicy } from '../page/policies.js';
import { sendGate } from './gate.js';
import { sendMovedOrMissing } from './moved.js';
import { callOf, offsetOf, type Place, type ReaderParts } from './parts.js';
import { etagOf } from './rendered.js';
import { pageHeaders, sendRendered } from './send.js';
import { searchPage } from './view/reader-page.js';

const MAX_CHARS = 200;

/** Responds with the items of a publication that match `?q=`, from `?offset=` on. */
export async function serveSearch(ctx: Context, parts: ReaderParts, place: Place, words: string): Promise<void> {
  const { address } = place;
  const offset = offsetOf(ctx);
  const query = words.trim().slice(0, MAX_CHARS);
  const answer = await parts.reader.searchPublication({ address, query, limit: 0, offset }, callOf(ctx, parts));
  const { pages, passwordRequired, missing, revision } = answer;
  if (passwordRequired !== undefined) return sendGate(ctx, parts, place, passwordRequired);
  if (pages === undefined) return sendMovedOrMissing(ctx, parts, place, missing);
  const body = Buffer.from(searchPage(pages, query, offset));
  const isPrivate = revision?.private ?? true;
  const headers = pageHeaders({ policy: readerPolicy(), indexed: false, isPrivate });
  sendRendered(ctx, { publicationId: '', revision: '', etag: etagOf(body), headers, body });
}
