import type { Readable } from 'node:stream';
import { createEtag } from '@commonplace/kit/http';
import { createBreathe, piecesOf, sendInTurns } from '@commonplace/kit/slices';
import { LargeText, type Part, RestOfList } from './large-values.js';

/** Number of characters and bytes above which an answer is encoded and sent in pieces. */
const LARGE_SIZE = 128 * 1024;

/** Bytes of a large value that are hashed at a time, which takes less than a millisecond. */
const PIECE_BYTES = 256 * 1024;

/** A large answer, encoded as UTF-8 in pieces. */
interface LargeAnswer {
  readonly pieces: readonly Buffer[];
  etag(version: number | undefined): string;
}

/** Returns whether an answer of these parts is large. */
export function isLarge(parts: readonly Part[]): boolean {
  const [first = ''] = parts;
  return parts.length > 1 || (typeof first === 'string' && first.length > LARGE_SIZE);
}

/** Writes and encodes a large answer and hashes it for its ETag. Yields to other requests in between. */
export async function encodeLarge(parts: readonly Part[]): Promise<LargeAnswer> {
  const breathe = createBreathe();
  const pieces: Buffer[] = [];
  const hash = createEtag();
  const left = [...parts];
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part instanceof RestOfList) {
      left.unshift(...part.parts());
      await breathe();
      continue;
    }
    for (const piece of bytesOf(part)) {
      hash.update(piece);
      pieces.push(piece);
      await breathe();
    }
  }
  return { pieces, etag: (version) => hash.tag(version) };
}

/** Streams an answer to its client piece by piece, as fast as the client reads. */
export function streamOf(start: string, { pieces }: LargeAnswer, end: string): { body: Readable; bytes: number } {
  const all = [Buffer.from(start), ...pieces, Buffer.from(end)];
  return { body: sendInTurns(all), bytes: all.reduce((sum, { length }) => sum + length, 0) };
}

function* bytesOf(part: Exclude<Part, RestOfList>): Generator<Buffer> {
  if (typeof part === 'string') for (const text of piecesOf(part)) yield Buffer.from(text);
  else if (part instanceof LargeText) yield* part.pieces();
  else for (let from = 0; from < part.length; from += PIECE_BYTES) yield part.subarray(from, from + PIECE_BYTES);
}
