import contentDispositionOf from 'content-disposition';

const LONGEST = 200;

/** A name without what a header, a path or a reader's eye could be led astray by: controls, bidi marks, separators. */
function plainName(name: string): string {
  const plain = name
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '')
    .replace(/["\\/:*?<>|]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  return plain === '' ? 'file' : shortened(plain);
}

/** Cut in the middle of whole characters, so that the extension stays. */
function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= LONGEST
    ? name
    : [...characters.slice(0, LONGEST - 20), '…', ...characters.slice(-19)].join('');
}

/** The `Content-Disposition` of a file by RFC 6266, in ASCII whatever the name holds. */
export function contentDisposition(disposition: 'inline' | 'attachment', name: string): string {
  const plain = plainName(name);
  // Of Latin-1 the library would send the bytes as they are, which stores behind signed URLs refuse.
  return contentDispositionOf(plain, { type: disposition, fallback: plain.replace(/[^\x20-\x7e]/g, '?') });
}
