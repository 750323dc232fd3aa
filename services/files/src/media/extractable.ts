import { essenceOf } from './content-type.js';

const OPEN_XML = 'application/vnd.openxmlformats-officedocument.';
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** Parser that extracts the text of a content type. */
export type Reader = 'pdf' | 'word' | 'workbook' | 'slides' | 'open_document' | 'book' | 'html' | 'xml' | 'plain';

const READERS: Readonly<Record<string, Reader>> = {
  'application/pdf': 'pdf',
  [`${OPEN_XML}wordprocessingml.document`]: 'word',
  [`${OPEN_XML}spreadsheetml.sheet`]: 'workbook',
  [`${OPEN_XML}presentationml.presentation`]: 'slides',
  [`${OPEN_DOCUMENT}text`]: 'open_document',
  [`${OPEN_DOCUMENT}spreadsheet`]: 'open_document',
  [`${OPEN_DOCUMENT}presentation`]: 'open_document',
  'application/epub+zip': 'book',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'image/svg+xml': 'xml',
  'application/xml': 'xml',
  'application/json': 'plain',
  'application/x-ndjson': 'plain',
  'application/yaml': 'plain',
  'application/toml': 'plain',
  'application/javascript': 'plain',
};

const THUMBNAILS = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/tiff',
  'application/pdf',
]);

/** Returns the parser of a content type, or undefined when its text can't be extracted. */
export function readerOf(contentType: string): Reader | undefined {
  const essence = essenceOf(contentType);
  if (Object.hasOwn(READERS, essence)) return READERS[essence];
  if (essence.endsWith('+xml') || essence === 'text/xml') return 'xml';
  return essence.startsWith('text/') || essence.endsWith('+json') ? 'plain' : undefined;
}

/** Returns whether text can be extracted from a content type. */
export function isExtractable(contentType: string): boolean {
  return readerOf(contentType) !== undefined;
}

/** Returns whether thumbnails can be made of a content type. */
export function isThumbnailable(contentType: string): boolean {
  return THUMBNAILS.has(essenceOf(contentType));
}
