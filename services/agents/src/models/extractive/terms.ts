import { questionWords, STOP_WORDS, stemOf, wordsOf } from '../../domain/words.js';

/** Phrases that ask for a number and contribute nothing else. */
const HOW_MUCH = /\bhow (?:many|much|long|often|old|far|early|late|soon)\b/gi;
const BEYOND_ASCII = /[\u0080-\uffff]/;
/** Number of letters that stemming leaves unchanged. */
const PREFIX = 3;

/** The words of a question that answers are found by. */
export interface QuestionTerms {
  /** The terms in the order of the question, without duplicates. */
  readonly terms: readonly string[];
  /** Returns the number of the term for each word of a text, in order; -1 for other words. */
  find(text: string): number[];
  /** Returns false only for texts without a term. It is much cheaper than `find`. */
  mayOccur(text: string): boolean;
}

/** Returns the terms of a question. Stop words are used only if there are no others. */
export function questionTerms(question: string): QuestionTerms {
  const words = questionWords(question.replace(HOW_MUCH, ' '));
  const content = words.filter((word) => !STOP_WORDS.has(word));
  const terms = [...new Set((content.length > 0 ? content : words).map(stemOf))];
  const numbers = new Map(terms.map((term, i) => [term, i]));
  const prefixes = new Set(terms.map((term) => term.slice(0, PREFIX)));
  const anyPrefix = new RegExp(`\\b(?:${[...prefixes].join('|') || '$^'})`, 'i');
  return {
    terms,
    find: (text) =>
      // The check of prefixes avoids stemming every word, which would take most of the time.
      wordsOf(text).map((word) => (prefixes.has(word.slice(0, PREFIX)) ? (numbers.get(stemOf(word)) ?? -1) : -1)),
    mayOccur: (text) => BEYOND_ASCII.test(text) || anyPrefix.test(text),
  };
}
