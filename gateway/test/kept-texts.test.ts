import { expect, test } from '@jest/globals';
import { keepTexts } from '../src/response/kept-texts.js';
import { collectLargeValues, writeText } from '../src/response/large-values.js';

let times = 0;
const kept = keepTexts((message) => {
  times++;
  return `{${writeText(String(message.name))}}`;
});

/** Returns what two answers write for a message, and counts from 0 how often it is written. */
function twice(message: Readonly<Record<string, unknown>>) {
  times = 0;
  const answers = [0, 1].map(() => collectLargeValues(() => kept(message)));
  return answers;
}

test('a frozen message is written once', () => {
  const answers = twice(Object.freeze({ name: 'Ada' }));
  expect(answers).toEqual([0, 1].map(() => ({ text: '{"Ada"}', values: [] })));
  expect(times).toBe(1);
});

test('a message that may change is written again', () => {
  const message = { name: 'Ada' };
  expect(kept(message)).toBe('{"Ada"}');
  message.name = 'Grace';
  expect(kept(message)).toBe('{"Grace"}');
});

test.each([5000, 100_000])('the text of a frozen message of %d characters is not kept', (length) => {
  const answers = twice(Object.freeze({ name: 'x'.repeat(length) }));
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[1]?.values).toHaveLength(length > 64 * 1024 ? 1 : 0);
  expect(times).toBe(2);
});
