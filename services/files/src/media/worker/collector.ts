import type { Extraction } from '../protocol.js';

/** Gathers text up to a limit. */
export interface Collector {
  add(text: string): void;
  /** Whether the limit is reached: what is added now is left out, so a reader may stop. */
  readonly isFull: boolean;
  /** Ends a page; what is added from now on is on the next. */
  endPage(): void;
  /** The text, tidied, with where its pages begin where some were ended; `left` says that the reader itself left something out. */
  end(left?: boolean): Extraction;
}

/** PDFium's mark of a hyphen at a line's end. */
const BROKEN_WORD = new RegExp(`[${String.fromCharCode(2)}\ufffe]\\r?\\n?`, 'g');

/** Between two pages that have text. */
const PAGE_BREAK = '\n\n';

/** Text as a reader wants it: no controls, one space, at most one empty line, words joined that a line end broke. */
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

  /** What was added since the last page ended becomes a page of the text, tidied by itself so that its start is known. */
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
