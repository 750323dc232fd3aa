import { essenceOf } from './content-type.js';

const OPEN_XML = 'application/vnd.openxmlformats-officedocument.';
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** How the text of a type is read. */
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

/** The reader of a type; undefined where its text is not read. */
export function readerOf(contentType: string): Reader | undefined {
  const essence = essenceOf(contentType);
  if (Object.hasOwn(READERS, essence)) return READERS[essence];
  if (essence.endsWith('+xml') || essence === 'text/xml') return 'xml';
  return essence.startsWith('text/') || essence.endsWith('+json') ? 'plain' : undefined;
}

/** Whether the text of a type can be read. */
export function isExtractable(contentType: string): boolean {
  return readerOf(contentType) !== undefined;
}

/** Whether small pictures of a type can be made. */
export function isThumbnailable(contentType: string): boolean {
  return THUMBNAILS.has(essenceOf(contentType));
}
