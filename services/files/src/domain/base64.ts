import type { Breathe } from '@commonplace/kit/slices';

/**
 * Characters that are decoded before the event loop gets a turn; a multiple of four, so that each piece represents
 * whole bytes. The engine interprets the first use of a pattern, at 40 ns a character.
 */
const PIECE_CHARS = 64 * 1024;
const NOT_BASE64 = /[^A-Za-z0-9+/_-]/;

/**
 * Decodes Base64 in either alphabet, padded or not. Returns undefined for invalid text. Yields to the event loop
 * between pieces.
 */
export async function decodeBase64(text: string, breathe: Breathe): Promise<Buffer | undefined> {
  const length = lengthWithoutPadding(text);
  if (length % 4 === 1) return undefined;
  const bytes = Buffer.allocUnsafe(Math.floor((length * 3) / 4));
  let written = 0;
  for (let from = 0; from < length; from += PIECE_CHARS) {
    const piece = text.slice(from, Math.min(from + PIECE_CHARS, length));
    if (NOT_BASE64.test(piece)) return undefined;
    written += bytes.write(piece, written, 'base64');
    await breathe();
  }
  return written === bytes.length ? bytes : undefined;
}

/** Counts the characters before the padding. A pattern such as `=+$` would backtrack over many `=` again and again. */
function lengthWithoutPadding(text: string): number {
  let length = text.length;
  while (length > 0 && text.charCodeAt(length - 1) === EQUALS) length--;
  return length;
}

const EQUALS = 0x3d;
