import { type Reader, readerOf } from '../extractable.js';
import { MediaFailure } from '../failure.js';
import type { Extraction, TextTask } from '../protocol.js';
import { bytesOf } from './bytes.js';
import type { ReadText } from './read-text.js';

/** Loads each parser with the first file that needs it. */
const LOADERS: Readonly<Record<Reader, () => Promise<ReadText>>> = {
  pdf: async () => (await import('./pdf.js')).readPdf,
  word: async () => (await import('./word.js')).readWord,
  workbook: async () => (await import('./workbook.js')).readWorkbook,
  slides: async () => (await import('./slides.js')).readSlides,
  open_document: async () => (await import('./open-document.js')).readOpenDocument,
  book: async () => (await import('./book.js')).readBook,
  html: async () => (await import('./markup-text.js')).readHtml,
  xml: async () => (await import('./markup-text.js')).readXml,
  plain: async () => (await import('./plain.js')).readPlain,
};

/** Extracts the text of a file by its type. Throws `MediaFailure`, or what a parser throws for a broken file. */
export async function readText({ source, contentType, limits }: TextTask): Promise<Extraction> {
  const reader = readerOf(contentType);
  if (reader === undefined) throw new MediaFailure('unsupported_type', `text cannot be extracted from ${contentType}`);
  const read = await LOADERS[reader]();
  return read(await bytesOf(source), limits);
}
