const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
/** Texts longer than this are counted by white space: the segmenter reads about 5 MB a second. */
const SEGMENTED_CHARS = 20_000;

/** Words of a text, those of scripts without spaces included. */
export function countWords(text: string): number {
  if (text.length > SEGMENTED_CHARS) return countRuns(text);
  if (isPlain(text)) return text.match(/\S+/g)?.length ?? 0;
  let words = 0;
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) words++;
  return words;
}

/** Whether white space tells the words apart: no script without spaces is in it. */
function isPlain(text: string): boolean {
  return !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u.test(
    text,
  );
}

/** Runs without white space; makes nothing of them, as a text may have a million. */
function countRuns(text: string): number {
  const run = /\S+/g;
  let runs = 0;
  while (run.test(text)) runs++;
  return runs;
}
