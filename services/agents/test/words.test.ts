import { expect, test } from '@jest/globals';
import { indexTerms, queryTerms } from '../src/domain/words.js';
import { questionTerms } from '../src/models/extractive/terms.js';

test('the terms of a text are the stems of its words', () => {
  expect(indexTerms('Running dogs ran, and the dogs run.')).toEqual(['run', 'dog', 'ran', 'and', 'the']);
  expect(queryTerms('What do the running dogs do?')).toEqual(['run', 'dog']);
});

test('a word that is longer than any of the language is its own stem', () => {
  // Stemming these would take minutes.
  for (const word of ['a'.repeat(65), 'a'.repeat(100_000), `${'y'.repeat(100_000)}ing`]) {
    expect(indexTerms(`${word} is long`)).toEqual([word, 'is', 'long']);
    expect(queryTerms(word.slice(0, 4_000))).toEqual([word.slice(0, 4_000)]);
  }
});

test('the terms of a long question are those of its beginning and its end', () => {
  const question = `${'dog '.repeat(20_000)}elephant`;
  expect(queryTerms(question)).toEqual(['dog', 'eleph']);
  expect(questionTerms(question).terms).toEqual(['dog', 'eleph']);
  const chinese = Array.from({ length: 100_000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7) % 20_000))).join('');
  expect(queryTerms(chinese).length).toBeLessThan(8_000);
});
