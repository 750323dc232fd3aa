import { type PDFiumDocument, PDFiumLibrary } from '@hyzyla/pdfium';
import { MediaFailure } from '../failure.js';
import { createCollector } from './collector.js';
import type { ReadText } from './text.js';

/**
 * PDFium as WebAssembly: built without JavaScript and XFA, it reaches no file, font or network, and has the character
 * maps of Chinese, Japanese and Korean fonts in it.
 */
const library = await PDFiumLibrary.init();

/** PDFium's words at a document that it can't open. */
function failureOf(error: unknown): MediaFailure {
  const message = error instanceof Error ? error.message : String(error);
  return /password|security/i.test(message)
    ? new MediaFailure('encrypted', 'the PDF is encrypted')
    : new MediaFailure('broken', message);
}

/** The text of a page; undefined where it is broken. */
function pageText(document: PDFiumDocument, index: number): string | undefined {
  try {
    return document.getPage(index).getText();
  } catch {
    return undefined;
  }
}

/** The text of a PDF, page by page; broken pages are left out, unless all are. */
export const readPdf: ReadText = async (file, { maxChars, maxPages }) => {
  const document = await library.loadDocument(file).catch((error) => {
    throw failureOf(error);
  });
  try {
    const pages = document.getPageCount();
    const out = createCollector(maxChars);
    const last = Math.min(pages, maxPages);
    let index = 0;
    let broken = 0;
    for (; index < last && !out.isFull; index++) {
      const text = pageText(document, index);
      if (text === undefined) broken++;
      else out.add(`${text}\n\n`);
    }
    if (index > 0 && broken === index) throw new MediaFailure('broken', 'no page of the PDF can be read');
    return { ...out.end(index < pages || broken > 0), pages };
  } finally {
    document.destroy();
  }
};
