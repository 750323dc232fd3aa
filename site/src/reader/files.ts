import type { Context } from 'koa';
import { sendDownload } from '../downloads/index.js';
import { sendGate } from './gate.js';
import { sendMovedOrMissing } from './moved.js';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { pageHeaders } from './send.js';

/** Path of a file, `files/<id>/<tag>/<name>`. The tag identifies the content; the name is for people. */
const FILE_PATH = /^files\/([\w-]{1,64})\/[\w-]{1,64}(?:\/[^/]*)?$/;

export const fileOf = (path: string): string | undefined => FILE_PATH.exec(path)?.[1];

/** Responds with the bytes of a file that a page shows or links to. Access is checked again for every piece. */
export async function serveFile(ctx: Context, parts: ReaderParts, place: Place, fileId: string): Promise<void> {
  const { address } = place;
  const request = { address, fileId };
  const { file, passwordRequired, missing, revision } = await parts.reader.openPublishedFile(
    request,
    callOf(ctx, parts),
  );
  if (passwordRequired !== undefined) return sendGate(ctx, parts, place, passwordRequired);
  if (file === undefined) return sendMovedOrMissing(ctx, parts, place, missing);
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
  await sendDownload(ctx, download, async (offset, length) => {
    const read = () => parts.reader.readPublishedFile({ ...request, offset, length }, callOf(ctx, parts));
    const piece = await parts.share(ctx, read, ({ data }) => data.length);
    return piece.etag === etag ? piece.data : Buffer.alloc(0);
  });
  ctx.set('Cache-Control', headers['Cache-Control'] ?? '');
}

/** Percent-encodes a name as in RFC 8187. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
