import { describe, expect, test } from '@jest/globals';
import { dictionary } from '../src/dictionary/index.js';

describe('a dictionary', () => {
  test('has its entries, and nothing that objects inherit', () => {
    const words = dictionary({ one: 1, two: 2 });
    expect([words.one, words.two]).toEqual([1, 2]);
    for (const name of ['constructor', 'toString', 'hasOwnProperty', '__proto__']) expect(words[name]).toBeUndefined();
    expect(Object.keys(words)).toEqual(['one', 'two']);
  });
});
