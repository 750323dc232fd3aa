import { STOP_WORDS, stemOf, wordsOf } from '../../domain/words.js';

/** Words that ask for a number, and say nothing else. */
const HOW_MUCH = /\bhow (?:many|much|long|often|old|far|early|late|soon)\b/gi;
const BEYOND_ASCII = /[\u0080-\uffff]/;
/** Letters that stemming leaves as they are. */
const PREFIX = 3;

/** The words of a question that its answer is found by. */
export interface QuestionTerms {
  /** Terms in the order of the question; none is there twice. */
  readonly terms: readonly string[];
  /** Returns the numbers of the terms in a text, in order, -1 for each other word. */
  find(text: string): number[];
  /** Returns false only for texts without a term, at a fraction of the cost. */
  mayOccur(text: string): boolean;
}

/** Returns the terms of a question. Stop words count where there is nothing else. */
export function questionTerms(question: string): QuestionTerms {
  const words = wordsOf(question.replace(HOW_MUCH, ' '));
  const content = words.filter((word) => !STOP_WORDS.has(word));
  const terms = [...new Set((content.length > 0 ? content : words).map(stemOf))];
  const numbers = new Map(terms.map((term, i) => [term, i]));
  const prefixes = new Set(terms.map((term) => term.slice(0, PREFIX)));
  const anyPrefix = new RegExp(`\\b(?:${[...prefixes].join('|') || '$^'})`, 'i');
  return {
    terms,
    find: (text) =>
      // Stemming every word of every passage would take most of the time.
      wordsOf(text).map((word) => (prefixes.has(word.slice(0, PREFIX)) ? (numbers.get(stemOf(word)) ?? -1) : -1)),
    mayOccur: (text) => BEYOND_ASCII.test(text) || anyPrefix.test(text),
  };
}
