import { expect, test } from '@jest/globals';
import { indexTerms, queryTerms } from '../src/domain/words.js';

test('the terms of a text are the stems of its words', () => {
  expect(indexTerms('Running dogs ran, and the dogs run.')).toEqual(['run', 'dog', 'ran', 'and', 'the']);
  expect(queryTerms('What do the running dogs do?')).toEqual(['run', 'dog']);
});

test('a word that is longer than any of the language is its own stem', () => {
  // Stemming these would take minutes.
  for (const word of ['a'.repeat(65), 'a'.repeat(100_000), `${'y'.repeat(100_000)}ing`]) {
    expect(indexTerms(`${word} is long`)).toEqual([word, 'is', 'long']);
    expect(queryTerms(word)).toEqual([word]);
  }
});
