import type { PDFiumDocument } from '@hyzyla/pdfium';
import { MediaFailure } from '../failure.js';
import { createCollector } from './collector.js';
import { withPdf } from './pdfium.js';
import type { ReadText } from './read-text.js';
import { isTrap } from './trap.js';

/** Returns the text of a page, or undefined when the page is broken. */
function pageText(document: PDFiumDocument, index: number): string | undefined {
  try {
    return document.getPage(index).getText();
  } catch (error) {
    if (isTrap(error)) throw error;
    return undefined;
  }
}

/** Extracts the text of a PDF page by page. Broken pages are skipped, unless all are broken. */
export const readPdf: ReadText = (file, { maxChars, maxPages }) =>
  withPdf(file, (document) => {
    const pages = document.getPageCount();
    const out = createCollector(maxChars);
    const last = Math.min(pages, maxPages);
    let index = 0;
    let broken = 0;
    for (; index < last && !out.isFull; index++) {
      const text = pageText(document, index);
      if (text === undefined) broken++;
      else out.add(text);
      out.endPage();
    }
    if (index > 0 && broken === index) throw new MediaFailure('broken', 'no page of the PDF can be read');
    return { ...out.end(index < pages || broken > 0), pages };
  });
