import { Readable } from 'node:stream';
import { nextTurn } from './breathe.js';

/** Number of bytes that are written to a socket at a time, which takes some 0.1 ms. */
const WRITTEN_BYTES = 128 * 1024;

/** Returns whether a body of this many bytes is large enough for `sendInTurns`. */
export const isSentInTurns = (bytes: number): boolean => bytes > WRITTEN_BYTES;

/**
 * Streams the pieces of a body, as fast as its client reads. Of all such bodies of the process one writes in a turn of
 * the event loop, so that other requests run in between. A client that reads quickly would otherwise receive megabytes
 * in one turn, because the operating system accepts them at once.
 */
export function sendInTurns(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): Readable {
  return Readable.from(slicesOf(pieces), { objectMode: false, highWaterMark: WRITTEN_BYTES });
}

async function* slicesOf(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += WRITTEN_BYTES) {
      await nextTurn();
      yield piece.subarray(at, at + WRITTEN_BYTES);
    }
  }
}
