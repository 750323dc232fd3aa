import { type PDFiumDocument, PDFiumLibrary } from '@hyzyla/pdfium';
import { MediaFailure } from '../failure.js';
import { isTrap } from './trap.js';

/**
 * PDFium as WebAssembly. It is built without JavaScript and XFA, accesses no files, fonts or network, and includes the
 * character maps of Chinese, Japanese and Korean fonts.
 */
const library = await PDFiumLibrary.init();

/** Converts PDFium's error for a document that it can't open. */
function failureOf(error: unknown): unknown {
  if (isTrap(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return /password|security/i.test(message)
    ? new MediaFailure('encrypted', 'the PDF is encrypted')
    : new MediaFailure('broken', message);
}

/** Opens a PDF, calls `use` with it and closes it. Throws `MediaFailure`. */
export async function withPdf<Answer>(
  file: Buffer,
  use: (document: PDFiumDocument) => Answer | Promise<Answer>,
): Promise<Answer> {
  const document = await library.loadDocument(file).catch((error) => {
    throw failureOf(error);
  });
  try {
    return await use(document);
  } finally {
    document.destroy();
  }
}
