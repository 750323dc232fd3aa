import type { IncomingMessage } from 'node:http';
import { AppError } from '@commonplace/kit/errors';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { BytesService, FinishWriteResponse } from '@commonplace/proto/files/v1/bytes_service.js';

/** Size in bytes of the pieces that are sent to the service. */
const PIECE_BYTES = 1024 * 1024;
/** Milliseconds without new data after which the upload is aborted. */
const IDLE_MS = 60_000;
/** Timeout in milliseconds for making the bytes durable. */
const FINISH_MS = 300_000;

interface UploadParts {
  readonly bytes: Client<BytesService>;
  readonly call: (timeoutMs?: number) => CallOptions;
  /** Timeout in milliseconds for the first call. */
  readonly beginMs: number;
  /** Writes a piece when it is the turn of the client's network. */
  readonly inShare: (data: Buffer, write: () => Promise<unknown>) => Promise<unknown>;
}

/**
 * Writes a request's body to the upload of its token. If the body is cut off, the upload is aborted and leaves nothing
 * behind.
 */
export async function receiveUpload(
  request: IncomingMessage,
  token: string,
  { bytes, call, beginMs, inShare }: UploadParts,
): Promise<FinishWriteResponse> {
  const contentLength = lengthOf(request);
  const { writer } = await bytes.beginWrite({ token, contentLength }, call(beginMs));
  request.setTimeout(IDLE_MS, () => request.destroy(new Error('no bytes came')));
  let offset = 0;
  try {
    for await (const data of pieces(request)) {
      const at = offset;
      await inShare(data, () => bytes.writeBytes({ writer, offset: at, data }, call()));
      offset += data.length;
    }
  } catch (error) {
    await bytes.abortWrite({ writer }, call()).catch(() => {});
    throw error instanceof AppError ? error : interrupted(error);
  }
  return bytes.finishWrite({ writer }, call(FINISH_MS));
}

function lengthOf({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Yields a body in pieces of at least `PIECE_BYTES`; the last one may be smaller. */
async function* pieces(request: IncomingMessage): AsyncIterable<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    held.push(chunk);
    size += chunk.length;
    if (size < PIECE_BYTES) continue;
    yield Buffer.concat(held);
    [held, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(held);
}

function interrupted(cause: unknown): AppError {
  const message = 'The body ended before it was complete. Put it again.';
  return new AppError('ABORTED', 'upload_incomplete', message, { cause });
}
