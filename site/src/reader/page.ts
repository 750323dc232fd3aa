import {
  ReaderFormat,
  type ReaderPage,
  type ReadPageResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import { readerPolicy } from '../page/policies.js';
import { frameAddress, frameElsewhere, renderFrame } from './frame.js';
import { sendGate } from './gate.js';
import { markdownOf } from './markdown.js';
import { sendMissing } from './missing.js';
import { sendMoved } from './moved.js';
import { callOf, offsetOf, type Place, type ReaderParts } from './parts.js';
import { etagOf, type Rendered } from './rendered.js';
import { pageHeaders, sendElsewhere, sendOnce, sendRendered } from './send.js';
import { isFramed } from './view/artifact.js';
import { missingPage } from './view/plain.js';
import { readerPage } from './view/reader-page.js';

/** Format in which a page is requested. */
type Shape = 'html' | 'markdown' | 'frame';

/** Responds with a page. The cached page is used as long as the revision of its publication is unchanged. */
export async function servePage(ctx: Context, parts: ReaderParts, place: Place): Promise<void> {
  const shape = shapeOf(ctx);
  const offset = offsetOf(ctx);
  // A frame is not counted as a view, because the page that contains it has been counted.
  const isView = shape !== 'frame' && ctx.method === 'GET' && place.shared === undefined;
  const call = callOf(ctx, parts);
  const key = `${place.key}\n${shape}\n${offset}\n${place.path}`;
  const known = parts.pages.get(key);
  if (known !== undefined) {
    const revision = parts.revisions.known(place.key) ?? (await parts.revisions.ask(place.key, place.address, call));
    if (revision.revision === known.revision && revision.publicationId === known.publicationId) {
      if (isView) parts.views.add(known.publicationId);
      return sendRendered(ctx, known);
    }
  }
  const format = shape === 'markdown' ? ReaderFormat.MARKDOWN : ReaderFormat.HTML;
  const request = { address: place.address, path: place.path, format, offset, limit: 0 };
  const asked = parts.revisions.moment();
  const answer = await parts.reader.readPage(request, call);
  parts.revisions.learn(place.key, answer.revision, asked);
  if (answer.page === undefined) return sendOther(ctx, parts, place, answer);
  const elsewhere = shape === 'frame' ? frameElsewhere(answer.page, parts, place) : undefined;
  if (elsewhere !== undefined) return sendElsewhere(ctx, elsewhere);
  const rendered = renderAnswer(answer, answer.page, shape, parts, place);
  if (rendered === undefined) return sendOnce(ctx, 404, missingPage(false));
  // A frame with a pass of one reader is not cached.
  if (answer.page.artifact?.pass === undefined || shape !== 'frame') parts.pages.set(key, rendered);
  if (isView) parts.views.add(rendered.publicationId);
  sendRendered(ctx, rendered);
}

function shapeOf({ query }: Context): Shape {
  if (query.format === 'md' || query.format === 'markdown') return 'markdown';
  return query.frame === undefined ? 'html' : 'frame';
}

/** Renders an answer. Returns undefined if the item can't be shown in the requested format. */
function renderAnswer(
  { revision }: ReadPageResponse,
  page: ReaderPage,
  shape: Shape,
  parts: ReaderParts,
  place: Place,
): Rendered | undefined {
  const text = { html: renderHtml, markdown: renderMarkdown, frame: renderFrame }[shape](page, parts, place);
  if (text === undefined) return undefined;
  const { contentType, policy, html } = text;
  const isPrivate = revision?.private ?? true;
  const body = Buffer.from(html);
  return {
    publicationId: revision?.publicationId ?? '',
    revision: revision?.revision ?? '',
    etag: etagOf(body),
    headers: {
      ...pageHeaders({ contentType, policy, indexed: page.indexed && shape === 'html', isPrivate }),
      ...(shape === 'frame' ? {} : { Link: `<${page.canonicalUrl}>; rel="canonical"` }),
    },
    body,
  };
}

/** A page in one of its formats. */
export interface Text {
  readonly contentType?: string;
  readonly policy: string;
  readonly html: string;
}

function renderHtml(page: ReaderPage, parts: ReaderParts, place: Place): Text {
  const frame = frameAddress(page, parts, place);
  const framed = page.artifact !== undefined && isFramed(page.artifact);
  return { policy: readerPolicy(framed ? frame.origins : undefined), html: readerPage(page, frame) };
}

function renderMarkdown(page: ReaderPage): Text {
  return { contentType: 'text/markdown; charset=utf-8', policy: readerPolicy(), html: markdownOf(page) };
}

function sendOther(ctx: Context, parts: ReaderParts, place: Place, answer: ReadPageResponse): void {
  const { redirect, passwordRequired, missing } = answer;
  if (redirect !== undefined) {
    sendMoved(ctx, redirect.location);
  } else if (passwordRequired !== undefined) {
    sendGate(ctx, parts, place, passwordRequired);
  } else {
    sendMissing(ctx, missing, missing?.refused ? 403 : 404);
  }
}
