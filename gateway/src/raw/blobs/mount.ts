import { AppError } from '@commonplace/kit/errors';
import { isHostOf, type ShareWork } from '@commonplace/kit/http';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { enumName } from '@commonplace/platform/enums';
import type { BytesService } from '@commonplace/proto/files/v1/bytes_service.js';
import { MAX_BYTES_IN_MEMORY, sendDownload } from '@commonplace/site/downloads';
import type Router from '@koa/router';
import type { State } from '../../middleware/state.js';
import { receiveUpload } from './upload.js';

export interface BlobParts {
  readonly bytes: Client<BytesService>;
  readonly share: ShareWork;
  /** The origin of uploaded content, if it differs from the product's. */
  readonly contentUrl: string | undefined;
  /** Timeout in milliseconds until the first byte of an upload or a download. */
  readonly timeoutMs: number;
}

/** Timeout in milliseconds for reading or writing one piece, or for scaling down an image. */
const PIECE_MS = 60_000;

/**
 * Serves uploads and downloads of files by signed URLs. The token in the path grants access without a credential. Bytes
 * are streamed in pieces with backpressure.
 */
export function mountBlobs(router: Router, { bytes, share, contentUrl, timeoutMs }: BlobParts): void {
  const isOwnOfBytes = contentUrl === undefined ? () => false : isHostOf(contentUrl);
  router.get('/blobs/:token', async (ctx) => {
    const { token = '' } = ctx.params;
    const call = callOf(ctx.state);
    const download = await bytes.openDownload({ token }, call(timeoutMs));
    // Content that may contain scripts is served only on its own origin.
    if (download.sandboxed && !isOwnOfBytes(ctx)) {
      throw new AppError('NOT_FOUND', 'expired_link', 'This URL is good under another host only.');
    }
    await sendDownload(ctx, download, async (offset, length) => {
      const read = () => bytes.readBytes({ token, offset, length }, call());
      return (await share(ctx, read, (piece) => piece.data.length)).data;
    });
    ctx.state.bytesInMemory = Math.min(ctx.length ?? 0, MAX_BYTES_IN_MEMORY);
  });
  router.put('/blobs/:token', async (ctx) => {
    const { token = '' } = ctx.params;
    const { resourceId, status, partsMissing } = await receiveUpload(ctx.req, token, {
      bytes,
      call: callOf(ctx.state),
      beginMs: timeoutMs,
      // What has been received is written even if the client has left.
      inShare: (data, write) => share({ state: ctx.state }, write, () => data.length),
    });
    const data = { resource_id: resourceId, status: statusName(status), parts_missing: partsMissing };
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = JSON.stringify({ data, request_id: ctx.state.requestId });
  });
}

function callOf({
  requestId,
  traceparent,
}: Pick<State, 'requestId' | 'traceparent'>): (timeoutMs?: number) => CallOptions {
  return (timeoutMs = PIECE_MS) => ({ metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs });
}

/** Returns the status on HTTP: `FILE_STATUS_READY` → `ready`. */
function statusName(status: string): string {
  return enumName(status, 'FILE_STATUS');
}
