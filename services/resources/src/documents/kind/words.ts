import type { Breathe } from '@commonplace/kit/slices';

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
/** Longest text that the segmenter counts, at about 5 MB a second; longer texts are split at white space. */
const SEGMENTED_CHARS = 20_000;

/** Counts the words of a text, including scripts without spaces between words. */
export function countWords(text: string): number {
  if (text.length > SEGMENTED_CHARS) return countRuns(text);
  if (isPlain(text)) return text.match(/\S+/g)?.length ?? 0;
  let words = 0;
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) words++;
  return words;
}

/** Returns whether white space separates the words: the text has no script without spaces. */
function isPlain(text: string): boolean {
  return !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u.test(
    text,
  );
}

/** Counts the words of a source text as `countWords` does, and yields to the event loop in between. */
export async function countWordsInSlices(text: string, breathe: Breathe): Promise<number> {
  if (text.length <= SEGMENTED_CHARS) return countWords(text);
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
