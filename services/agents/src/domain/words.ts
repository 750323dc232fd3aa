import { normalize } from '@commonplace/kit/words';
import stem from 'wink-porter2-stemmer';

/** Words that do not contribute to what a question is about. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about all also am an and any are as at be been being but by can could did do does doing for from get give had has ' +
    'have having he her hers him his how i if in into is it its know let may me might more most must my need no not of on ' +
    'or our ours please say shall she should show so some such tell than that the their them then there these they this ' +
    'those to us use used using want was we were what when where whether which who whom whose why will with would you your ' +
    'yours'
  ).split(' '),
);

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Stemming takes seconds for some thousand letters, as its time grows with their square. No English word is as long. */
const ENGLISH = /^[a-z]{3,64}$/;
/**
 * Maximum characters of a question from which terms are taken, half at its beginning and half at its end, because a
 * question stands before or after a long text. All words of 100,000 Chinese characters took 0.1 s.
 */
const MAX_QUESTION_CHARS = 8_000;
const BEYOND_ASCII = /[\u0080-\uffff]/;
/** Scripts without spaces between words, which are compared by pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Returns the stem of a lower-case English word; returns other words, and longer ones than any, unchanged. */
export function stemOf(word: string): string {
  return ENGLISH.test(word) ? stem(word) : word;
}

/** Returns the words of a text in lower case without accents; for scripts without spaces, pairs of characters. */
export function wordsOf(text: string): string[] {
  const folded = text.replace(/['’]s\b|['’]/g, '').toLowerCase();
  if (!BEYOND_ASCII.test(folded)) return folded.match(WORD) ?? [];
  const plain = normalize(folded, 'NFKD').replace(/\p{M}+/gu, '');
  return (plain.match(WORD) ?? []).flatMap((word) => (UNSPACED.test(word) ? pairsOf(word) : [word]));
}

function pairsOf(word: string): string[] {
  const characters = [...word];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/**
 * Returns the index terms of a text without duplicates: the stems of its words; for scripts without spaces, pairs of
 * characters and single characters.
 */
export function indexTerms(text: string): string[] {
  const terms = new Set<string>();
  for (const word of wordsOf(text)) {
    terms.add(stemOf(word));
    if (UNSPACED.test(word)) for (const character of word) terms.add(character);
  }
  return [...terms];
}

/** Returns the words of a question, of a long one those of its beginning and its end. */
export function questionWords(question: string): string[] {
  if (question.length <= MAX_QUESTION_CHARS) return wordsOf(question);
  const half = MAX_QUESTION_CHARS / 2;
  return [...wordsOf(question.slice(0, half)), ...wordsOf(question.slice(-half))];
}

/** Returns the search terms of a query. Stop words are used only if there are no others. */
export function queryTerms(query: string): string[] {
  const words = questionWords(query);
  const content = words.filter((word) => !STOP_WORDS.has(word));
  return [...new Set((content.length > 0 ? content : words).map(stemOf))];
}
