import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { growingEntry, jsonEntry, listTexts } from '../src/transfer/export/pieces.js';

async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

/** Returns the pieces of a list's entry. */
async function piecesOf(values: readonly unknown[]): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const { data } of growingEntry('a.json', listTexts(each(values)))) pieces.push(data);
  return pieces;
}

test.each([
  ['one value', [1]],
  ['objects', [{ a: 'line\nend', b: [], c: { d: [1, { e: null }] } }, {}, ['x'], 'text']],
  ['many values', Array.from({ length: 2000 }, (_, i) => ({ id: i, body: 'One heron. '.repeat(50) }))],
])('a list that is written value by value is the same as at once: %s', async (_, values) => {
  expect(Buffer.concat(await piecesOf(values)).toString()).toBe(jsonEntry('a.json', values).data.toString());
});

test('a long list is sent in pieces, and other requests run in between', async () => {
  const values = Array.from({ length: 3000 }, (_, i) => ({ id: i, body: 'One heron. '.repeat(500) }));
  let pieces: Buffer[] = [];
  const turns = await countTurns(async () => {
    pieces = await piecesOf(values);
  });
  expect(pieces.length).toBeGreaterThan(20);
  expect(turns).toBeGreaterThan(5);
});
