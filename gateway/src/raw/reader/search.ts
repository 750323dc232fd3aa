import type { Context } from 'koa';
import { readerPolicy } from '../../pages/policies.js';
import { missingPage } from '../../pages/reader/plain.js';
import { searchPage } from '../../pages/reader/reader-page.js';
import { sendGate } from './gate.js';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { etagOf } from './rendered.js';
import { pageHeaders, sendOnce, sendRendered } from './send.js';

const MAX_CHARS = 200;

/** Answers what of a publication has the words of `?q=`. */
export async function serveSearch(ctx: Context, parts: ReaderParts, place: Place, words: string): Promise<void> {
  const { address } = place;
  const query = words.trim().slice(0, MAX_CHARS);
  const answer = await parts.reader.searchPublication({ address, query, limit: 0 }, callOf(ctx, parts));
  const { pages, passwordRequired, missing, revision } = answer;
  if (passwordRequired !== undefined) return sendGate(ctx, parts, place, passwordRequired);
  if (pages === undefined) return sendOnce(ctx, 404, missingPage(missing?.gone ?? false));
  const body = Buffer.from(searchPage(pages, query));
  const isPrivate = revision?.private ?? true;
  const headers = pageHeaders({ policy: readerPolicy(), indexed: false, isPrivate });
  sendRendered(ctx, { publicationId: '', revision: '', etag: etagOf(body), headers, body });
}
