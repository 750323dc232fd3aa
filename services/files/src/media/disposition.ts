import contentDispositionOf from 'content-disposition';

const MAX_NAME_CHARS = 200;

/**
 * Removes what could mislead a header, a path or a reader from a name: control characters, bidirectional marks,
 * separators.
 */
function plainName(name: string): string {
  const plain = name
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '')
    .replace(/["\\/:*?<>|]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  return plain === '' ? 'file' : shortened(plain);
}

/** Truncates a name between whole characters so that the extension stays. */
function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME_CHARS
    ? name
    : [...characters.slice(0, MAX_NAME_CHARS - 20), '…', ...characters.slice(-19)].join('');
}

/** Returns the `Content-Disposition` of a file by RFC 6266, in ASCII whatever the name contains. */
export function contentDisposition(disposition: 'inline' | 'attachment', name: string): string {
  const plain = plainName(name);
  // The library would send Latin-1 as raw bytes, which stores behind signed URLs refuse.
  return contentDispositionOf(plain, { type: disposition, fallback: plain.replace(/[^\x20-\x7e]/g, '?') });
}
