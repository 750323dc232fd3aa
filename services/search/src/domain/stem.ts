import porter2 from 'wink-porter2-stemmer';

const ENGLISH = /^[a-z]{3,}$/;
const KEPT = 200_000;
const stems = new Map<string, string>();

/** The stem of a folded word (Porter's second algorithm for words of Latin letters; others are their own stem). */
export function stemOf(word: string): string {
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = ENGLISH.test(word) ? porter2(word) : word;
    if (stems.size >= KEPT) stems.clear();
    stems.set(word, stem);
  }
  return stem;
}

/** Words that say nothing about what is sought, unless nothing else is asked for. */
const STOP_WORDS = new Set(
  (
    'a about an and are as at be been but by can did do does for from had has have how i if in into is it its me my ' +
    'no not of on or our so such than that the their then there these they this those to was we were what when where ' +
    'which who why will with would you your'
  ).split(' '),
);

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
