import { randomUUID } from 'node:crypto';
import { createBreathe, jsonPiecesOf } from '@commonplace/kit/slices';

/** Characters of a text above which its record is encoded in pieces, with its commit: about a millisecond. */
const LONG_CHARS = 256 * 1024;

/** Number of levels below a record, and of elements of a list, that are looked at for long texts. */
const LEVELS = 3;
const ELEMENTS = 100;

/** Returns whether a record has a text that takes long to encode. */
export function hasLongText(value: unknown, levels = LEVELS): boolean {
  if (typeof value === 'string') return value.length > LONG_CHARS;
  if (typeof value !== 'object' || value === null || levels < 0) return false;
  const parts = Array.isArray(value) ? value.slice(0, ELEMENTS) : Object.values(value);
  return parts.some((part) => hasLongText(part, levels - 1));
}

/** Returns the JSON of a record as `JSON.stringify` does, in pieces, and yields to the event loop in between. */
export async function encodeInPieces(record: object): Promise<string[]> {
  const breathe = createBreathe();
  const texts: string[] = [];
  const placeholder: string = randomUUID();
  const outline = JSON.stringify(record, (_, value: unknown) => {
    if (typeof value !== 'string' || value.length <= LONG_CHARS) return value;
    texts.push(value);
    return placeholder;
  });
  const [first = '', ...rest] = outline.split(`"${placeholder}"`);
  const pieces = [first];
  for (const [i, after] of rest.entries()) {
    for (const piece of jsonPiecesOf(texts[i] as string)) {
      pieces.push(piece);
      await breathe();
    }
    pieces.push(after);
  }
  return pieces;
}
