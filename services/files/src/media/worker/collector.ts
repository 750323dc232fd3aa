import type { Extraction } from '../protocol.js';

/** Gathers text up to a limit. */
export interface Collector {
  add(text: string): void;
  /** Whether the limit is reached: what is added now is left out, so a reader may stop. */
  readonly isFull: boolean;
  /** The text, tidied; `left` says that the reader itself left something out. */
  end(left?: boolean): Extraction;
}

/** PDFium's mark of a hyphen at a line's end. */
const BROKEN_WORD = new RegExp(`[${String.fromCharCode(2)}\ufffe]\\r?\\n?`, 'g');

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
  const parts: string[] = [];
  let length = 0;
  let cut = false;
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
    end: (left = false) => ({ text: tidy(parts.join('')), truncated: cut || left }),
  };
}
