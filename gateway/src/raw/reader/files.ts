import type { Context } from 'koa';
import { missingPage } from '../../pages/reader/plain.js';
import { sendDownload } from '../blobs/download.js';
import { sendGate } from './gate.js';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { pageHeaders, sendOnce } from './send.js';

/** `files/<id>/<tag>/<name>`: the tag names the bytes, the name is for people. */
const FILE_PATH = /^files\/([\w-]{1,64})\/[\w-]{1,64}(?:\/[^/]*)?$/;

export const fileOf = (path: string): string | undefined => FILE_PATH.exec(path)?.[1];

/** Answers the bytes of a file that a page shows or links to; every piece asks again whether the reader may. */
export async function serveFile(ctx: Context, parts: ReaderParts, place: Place, fileId: string): Promise<void> {
  const { address } = place;
  const request = { address, fileId };
  const { file, passwordRequired, missing, revision } = await parts.reader.openPublishedFile(
    request,
    callOf(ctx, parts),
  );
  if (passwordRequired !== undefined) return sendGate(ctx, parts, place, passwordRequired);
  if (file === undefined) return sendOnce(ctx, 404, missingPage(missing?.gone ?? false));
  const { name, contentType, sizeBytes, etag, inline } = file;
  const download = {
    contentDisposition: `${inline ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeName(name)}`,
    contentType: inline ? contentType : 'application/octet-stream',
    sizeBytes,
    etag,
    sandboxed: true,
    expiresIn: 0,
  };
  const headers = pageHeaders({ policy: '', indexed: false, isPrivate: revision?.private ?? true });
  ctx.set('X-Robots-Tag', 'noindex');
  sendDownload(ctx, download, async (offset, length) => {
    const piece = await parts.reader.readPublishedFile({ ...request, offset, length }, callOf(ctx, parts));
    return piece.etag === etag ? piece.data : Buffer.alloc(0);
  });
  ctx.set('Cache-Control', headers['Cache-Control'] ?? '');
}

/** As RFC 8187 wants it. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
