import type { Breathe } from '@commonplace/kit/slices';

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
/** Longest text that the segmenter counts, at about 5 MB a second; longer texts are split at white space. */
const SEGMENTED_CHARS = 20_000;

/** Characters that are segmented together. From some 2,000 without a space on, the time grows with their square. */
const PIECE_CHARS = 1000;

/** Counts the words of a text, including scripts without spaces between words. */
export function countWords(text: string): number {
  if (text.length > SEGMENTED_CHARS) return countRuns(text);
  const separated = countUnsegmented(text);
  if (separated !== undefined) return separated;
  let words = 0;
  for (const piece of piecesOf(text)) words += countSegments(piece);
  return words;
}

/** Counts the words of a text whose words white space separates; undefined for other texts. */
function countUnsegmented(text: string): number | undefined {
  return countSeparated(text) ?? (isPlain(text) ? countRuns(text) : undefined);
}

function countSegments(piece: string): number {
  let words = 0;
  for (const { isWordLike } of segmenter.segment(piece)) if (isWordLike) words++;
  return words;
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = endOfPiece(text, at);
    yield text.slice(at, end);
    at = end;
  }
}

/** White space, and punctuation of scripts without spaces. */
const BREAK = /[\s\u3001-\u303f\uff01-\uff0f]/;
const HIGH_SURROGATE = /[\ud800-\udbff]/;

/** Returns the end of the piece that begins at `at`. It ends behind a break if it can, so that no word is cut. */
function endOfPiece(text: string, at: number): number {
  const end = at + PIECE_CHARS;
  if (end >= text.length) return text.length;
  for (let last = end; last > at + PIECE_CHARS / 2; last--) if (BREAK.test(text.charAt(last - 1))) return last;
  return HIGH_SURROGATE.test(text.charAt(end - 1)) ? end - 1 : end;
}

/** Code units of characters that may belong to a script without spaces: all from Thai on, except punctuation and symbols. */
const FIRST_UNCERTAIN = 0x0e00;
const [FIRST_SYMBOL, LAST_SYMBOL] = [0x2000, 0x2dff];

/**
 * Counts the runs of characters other than white space; undefined if a character may belong to a script without spaces.
 * It reads each character once, in about half the time of regular expressions: each read of a document counts its words.
 */
function countSeparated(text: string): number | undefined {
  let runs = 0;
  let inRun = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= FIRST_UNCERTAIN && (code < FIRST_SYMBOL || code > LAST_SYMBOL)) return undefined;
    const isRun = !isSpace(code);
    if (isRun && !inRun) runs++;
    inRun = isRun;
  }
  return runs;
}

/** Returns whether `\s` matches a character up to U+2DFF. */
function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  if (code < 0xa0) return false;
  return (
    code === 0xa0 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f
  );
}

/** Returns whether white space separates the words: the text has no script without spaces. */
function isPlain(text: string): boolean {
  return !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u.test(
    text,
  );
}

/** Counts the words of a source text as `countWords` does, and yields to the event loop in between. */
export async function countWordsInSlices(text: string, breathe: Breathe): Promise<number> {
  if (text.length <= SEGMENTED_CHARS) {
    const separated = countUnsegmented(text);
    if (separated !== undefined) return separated;
    let words = 0;
    for (const piece of piecesOf(text)) {
      words += countSegments(piece);
      await breathe();
    }
    return words;
  }
  const run = /\S+/g;
  let runs = 0;
  while (run.test(text)) if (++runs % RUNS_AT_ONCE === 0) await breathe();
  return runs;
}

/** Runs that are counted before the clock is read. */
const RUNS_AT_ONCE = 4096;

/** Counts runs of characters other than white space. Builds no array, as a text may have a million runs. */
function countRuns(text: string): number {
  const run = /\S+/g;
  let runs = 0;
  while (run.test(text)) runs++;
  return runs;
}
