import { expect, test } from '@jest/globals';
import { rememberLast } from '../../src/imports/sources/common/remember-last.js';

test('computes a value once for calls with the same key in a row', () => {
  const computed: string[] = [];
  const upper = rememberLast((key: string) => {
    computed.push(key);
    return key.toUpperCase();
  });
  expect(['a', 'a', 'b', 'b', 'a'].map(upper)).toEqual(['A', 'A', 'B', 'B', 'A']);
  expect(computed).toEqual(['a', 'b', 'a']);
});

test('computes again what has failed', async () => {
  let calls = 0;
  const read = rememberLast(async (_key: string) => {
    calls++;
    if (calls === 1) throw new Error('not now');
    return calls;
  });
  await expect(read('a')).rejects.toThrow('not now');
  expect([await read('a'), await read('a')]).toEqual([2, 2]);
});
