import { MediaFailure } from '../failure.js';
import { withPdf } from './pdfium.js';

/** Raw pixels: red, green, blue and alpha of each. */
interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

/** Renders the first page of a PDF on white, scaled to fit into the box, so that a huge page costs no more. */
export function drawFirstPage(file: Buffer, box: Box): Promise<Pixels> {
  return withPdf(file, async (document) => {
    if (document.getPageCount() === 0) throw new MediaFailure('broken', 'the PDF has no pages');
    const page = document.getPage(0);
    const { originalWidth, originalHeight } = page.getOriginalSize();
    const scale = Math.min(box.width / originalWidth, box.height / originalHeight);
    if (!(scale > 0 && Number.isFinite(scale))) throw new MediaFailure('broken', 'the first page has no size');
    const side = (length: number) => Math.max(Math.round(length * scale), 1);
    return page.render({ width: side(originalWidth), height: side(originalHeight), render: 'bitmap' });
  });
}
