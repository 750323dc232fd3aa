import type { Extraction } from '../protocol.js';

/** Collects text up to a limit. */
export interface Collector {
  add(text: string): void;
  /** Whether the limit is reached: further text is dropped, so a reader may stop. */
  readonly isFull: boolean;
  /** Ends a page; text that is added later belongs to the next. */
  endPage(): void;
  /**
   * Returns the cleaned text, with the offsets of its pages if any page was ended; `left` says that the reader has left
   * something out.
   */
  end(left?: boolean): Extraction;
}

/** PDFium's mark for a hyphen at the end of a line. */
const BROKEN_WORD = new RegExp(`[${String.fromCharCode(2)}\ufffe]\\r?\\n?`, 'g');

/** Separator between pages that have text. */
const PAGE_BREAK = '\n\n';

/**
 * Cleans text: removes control characters, collapses spaces and empty lines, and joins words that a line end splits.
 */
function tidy(text: string): string {
  return text
    .replace(BROKEN_WORD, '')
    .replace(/\r\n?|[\u2028\u2029\f\v]/g, '\n')
    .replace(/(?![\n\t])\p{Cc}|[\ufeff\u00ad]/gu, '')
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/[ \u00a0\u2000-\u200a\u202f\u3000]+/g, ' ')
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

export function createCollector(maxChars: number): Collector {
  let parts: string[] = [];
  let length = 0;
  let cut = false;
  let text = '';
  const pageStarts: number[] = [];

  /** Turns what was added since the last page into a page, cleaned separately so that its offset is known. */
  function endPage(): void {
    const page = tidy(parts.join(''));
    parts = [];
    length = Math.min(maxChars, length + PAGE_BREAK.length);
    if (page !== '' && text !== '') text += PAGE_BREAK;
    pageStarts.push(text.length);
    text += page;
  }

  return {
    add(text) {
      const room = maxChars - length;
      const taken = text.length <= room ? text : text.slice(0, room);
      if (taken.length < text.length) cut = true;
      if (taken !== '') parts.push(taken);
      length += taken.length;
    },
    get isFull() {
      return length >= maxChars;
    },
    endPage,
    end(left = false) {
      const truncated = cut || left;
      if (pageStarts.length === 0) return { text: tidy(parts.join('')), truncated };
      if (parts.length > 0) endPage();
      return { text, truncated, pageStarts };
    },
  };
}
