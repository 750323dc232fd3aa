import { essenceOf, isType } from './content-type.js';
import { markupOf } from './markup.js';
import { containedType, textTypeByName } from './names.js';
import { isActive, mayInline } from './serving.js';

/** Bytes at the beginning of a file that suffice to detect its type. */
export const SNIFF_BYTES = 64 * 1024;

/** Types that have a signature although they consist of text. */
const TEXTUAL = new Set(['application/pdf', 'application/postscript', 'application/eps', 'application/rtf']);

/** Text types that only the declared type can identify. */
const DECLARABLE_TEXT =
  /^(?:text\/[\w.+-]+|application\/(?:json|yaml|toml|x-ndjson|xml|javascript)|[a-z]+\/[\w.-]+\+(?:json|xml))$/;
const DECLARABLE_BINARY = /^application\/(?:vnd\.|x-)[\w.+-]+$/;

const ACTIVE_MARKUP = {
  html: 'text/html',
  svg: 'image/svg+xml',
  xhtml: 'application/xhtml+xml',
  xml: 'application/xml',
} as const;

/** Checks for bytes that no text contains (WHATWG MIME Sniffing, "binary data byte"). */
function hasBinary(head: Uint8Array): boolean {
  return head.some(
    (byte) => byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f),
  );
}

function isWideText(head: Uint8Array): boolean {
  return (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
}

/** Checks for a PDF where readers look for one: its signature may follow other bytes. */
function hidesPdf(head: Buffer): boolean {
  return head.subarray(0, 1024 + 5).includes('%PDF-', 0, 'latin1');
}

/**
 * Returns the type of a text. Its name and declared type can make it more dangerous than its content suggests, but
 * never less.
 */
function textType(text: string, name: string, declared: string): string {
  const markup = markupOf(text);
  if (markup !== undefined && markup !== 'fragment') return ACTIVE_MARKUP[markup];
  if (/^(?:mime-version|content-type|from|subject):/i.test(text) && /^content-type:\s*multipart\/related/im.test(text))
    return 'multipart/related';
  const namedType = textTypeByName(name) ?? (DECLARABLE_TEXT.test(declared) ? declared : 'text/plain');
  return markup === 'fragment' && namedType === 'text/plain' && textTypeByName(name) === undefined
    ? 'text/html'
    : namedType;
}

/**
 * Detects the content type of a file from its first bytes (`SNIFF_BYTES`, or the whole file), as a browser would, with
 * the same or less trust: a name or a declared type counts only when the content is inconclusive. Text gets a charset
 * by its WHATWG name. An unknown type is `application/octet-stream`.
 */
export async function sniff(head: Buffer, name: string, declared = ''): Promise<string> {
  const bytes = head.subarray(0, SNIFF_BYTES);
  const declaredType = isType(essenceOf(declared)) ? essenceOf(declared) : 'application/octet-stream';
  const isText = isWideText(bytes) || !hasBinary(bytes);
  const signed = bytes.length === 0 ? undefined : await signature(bytes);
  if (signed !== undefined && (!isText || TEXTUAL.has(signed))) return containedType(signed, name);
  if (hidesPdf(bytes)) return 'application/pdf';
  const { charsetOf, isUtf8 } = await import('./charset.js');
  // Editors may leave a control character in a text: its name counts for more than that.
  const isBlotted = textTypeByName(name) !== undefined && !bytes.includes(0) && isUtf8(bytes);
  if (!isText && !isBlotted) return binaryType(declaredType);
  const charset = charsetOf(bytes);
  const type = textType(new TextDecoder(charset).decode(bytes, { stream: true }), name, declaredType);
  return /^text\/|xml$|javascript$/.test(type) ? `${type}; charset=${charset}` : type;
}

/** Returns the type that the file's signature identifies, except for text types, whose content decides. */
async function signature(bytes: Buffer): Promise<string | undefined> {
  // Loaded with the first file, because the start needs none of it.
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  const mime = found === undefined ? undefined : essenceOf(found.mime);
  return mime === undefined || /^text\/|xml$/.test(mime) ? undefined : mime;
}

/** Accepts a declared type for bytes without a signature only if no browser renders it. */
function binaryType(declaredType: string): string {
  return DECLARABLE_BINARY.test(declaredType) && !isActive(declaredType) && !mayInline(declaredType)
    ? declaredType
    : 'application/octet-stream';
}
