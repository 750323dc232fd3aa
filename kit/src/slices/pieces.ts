import type { Breathe } from './breathe.js';

/** Characters of a piece: encoding one as UTF-8 or JSON takes at most a millisecond. */
const PIECE_CHARS = 128 * 1024;

/** Cuts a text into pieces for slices of work on it. No piece ends between the halves of a surrogate pair. */
export function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = from + PIECE_CHARS;
    const last = text.charCodeAt(end - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
    yield text.slice(from, cut);
    from = cut;
  }
}

/** Writes a text as JSON, with its quotes, in pieces for slices of work. */
export function* jsonPiecesOf(text: string): Generator<string> {
  yield '"';
  for (const piece of piecesOf(text)) yield JSON.stringify(piece).slice(1, -1);
  yield '"';
}

/** Encodes a text as UTF-8, and yields to the event loop in between. */
export async function encodeInSlices(text: string, breathe: Breathe): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Buffer.byteLength(text));
  let end = 0;
  for (const piece of piecesOf(text)) {
    end += bytes.write(piece, end);
    await breathe();
  }
  return bytes;
}
