import { createBreathe } from '@commonplace/kit/slices';
import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { countWords, countWordsInSlices } from '../src/documents/kind/words.js';

const RUNS = /\S+/g;

test('counts words separated by white space as runs of other characters', () => {
  const spaces = Array.from({ length: 0x2e00 }, (_, code) => String.fromCharCode(code)).filter((one) => /\s/.test(one));
  // U+1680 is counted by the regular expression, like all characters from Thai on.
  expect(spaces).toHaveLength(23);
  for (const space of spaces) expect([space, countWords(`one${space}two`)]).toEqual([space, 2]);
  for (const text of [
    '',
    ' ',
    '“Quoted” — naïve café',
    'a\u0301 b',
    'Привет, мир',
    'שלום עולם',
    '1 ≤ 2 → 3',
    'emoji 🎉 here',
  ]) {
    expect([text, countWords(text)]).toEqual([text, text.match(RUNS)?.length ?? 0]);
  }
});

test('counts every character up to U+2DFF except white space as part of a word', () => {
  for (let code = 0; code < 0x2e00; code++) {
    const text = `a${String.fromCharCode(code)}b`;
    const isThai = code >= 0x0e00 && code < 0x2000;
    if (!isThai) expect([code, countWords(text)]).toEqual([code, text.match(RUNS)?.length]);
  }
});

test('segments scripts without spaces', () => {
  expect(countWords('我喜欢喝茶')).toBeGreaterThan(1);
  expect(countWords('ขอบคุณมาก')).toBeGreaterThan(1);
  expect(countWords('tea 茶')).toBe(2);
});

test('counts long texts without spaces in pieces, with pauses, and cuts no word at a break', async () => {
  const sentence = '统一的训练数据可以帮助人们。';
  const words = countWords(sentence);
  const text = sentence.repeat(Math.floor(20_000 / sentence.length));
  let counted = 0;
  const turns = await countTurns(async () => {
    counted = await countWordsInSlices(text, createBreathe());
  });
  expect(counted).toBe(words * (text.length / sentence.length));
  expect(countWords(text)).toBe(counted);
  expect(turns).toBeGreaterThan(2);
  // Without a break, a word is cut in two at most at the end of each piece.
  const run = '统一的训练数据可以帮助人们'.repeat(700);
  expect(Math.abs(countWords(run) - countWords('统一的训练数据可以帮助人们') * 700)).toBeLessThan(40);
});
