import type { IncomingMessage } from 'node:http';

/** Bytes and milliseconds of a refused body that are read and dropped, so that its client reads the answer. */
const DROPPED_BYTES = 64 * 1024 * 1024;
const DROPPED_MS = 5000;

/**
 * Reads the rest of a request's body without keeping it, because a client that is still writing does not read the
 * answer. Returns false if it gave up; the connection can't be used again then.
 */
export function dropBody(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return Promise.resolve(true);
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (whole: boolean) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (!whole) request.pause();
      resolve(whole);
    };
    const onEnd = () => end(true);
    const onClose = () => end(false);
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DROPPED_BYTES) end(false);
    };
    const timer = setTimeout(onClose, DROPPED_MS);
    request.on('data', onData).on('end', onEnd).on('close', onClose).resume();
  });
}
