import { lazyLibrary } from '@commonplace/kit/library';

const chardet = lazyLibrary<typeof import('chardet')>('chardet', import.meta.url);

/** Bytes of a text that its charset is guessed from. */
const SAMPLE_BYTES = 64 * 1024;

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return undefined;
}

/** Checks that bytes are valid UTF-8; the last character may be incomplete. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Returns the WHATWG name of a charset, or undefined for an unknown one. */
function known(label: string | null | undefined): string | undefined {
  if (label === null || label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

/**
 * Returns the charset of a text by its WHATWG name, in this order: byte order mark, UTF-8 if valid, the charset that
 * the text declares (`declared`), a guess from its bytes. It is always one that `TextDecoder` supports.
 */
export function charsetOf(bytes: Uint8Array, declared?: string): string {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return marked;
  if (isUtf8(bytes)) return 'utf-8';
  return known(declared) ?? known(chardet().detect(bytes.subarray(0, SAMPLE_BYTES))) ?? 'windows-1252';
}

/** Decodes bytes in their charset; invalid sequences become U+FFFD. */
export function decode(bytes: Uint8Array, declared?: string): string {
  return new TextDecoder(charsetOf(bytes, declared)).decode(bytes);
}
