import { detect } from 'chardet';

/** As much of a text as its charset is guessed from. */
const SAMPLE_BYTES = 64 * 1024;

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return undefined;
}

/** Whether the bytes are UTF-8; the last character may be cut. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The WHATWG name of a charset; undefined for one that no browser knows. */
function known(label: string | null | undefined): string | undefined {
  if (label === null || label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

/**
 * The charset of a text, by its WHATWG name: byte order mark, then UTF-8 where it is valid, then what the text says
 * of itself (`declared`), then a guess by its bytes. Always one that TextDecoder knows.
 */
export function charsetOf(bytes: Uint8Array, declared?: string): string {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return marked;
  if (isUtf8(bytes)) return 'utf-8';
  return known(declared) ?? known(detect(bytes.subarray(0, SAMPLE_BYTES))) ?? 'windows-1252';
}

/** The text of bytes in their charset; what is no character in it becomes U+FFFD. */
export function decode(bytes: Uint8Array, declared?: string): string {
  return new TextDecoder(charsetOf(bytes, declared)).decode(bytes);
}
