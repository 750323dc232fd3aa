import type { IncomingMessage } from 'node:http';

/**
 * Maximum number of bytes of a refused body to read and discard, so that the client gets to read the answer. Below, the
 * maximum time for it in milliseconds.
 */
const DROPPED_BYTES = 64 * 1024 * 1024;
const DROPPED_MS = 5000;

/**
 * Reads the rest of a request's body and discards it, because a client that is still writing does not read the answer.
 * Returns false if it gave up; the connection can't be reused then.
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
