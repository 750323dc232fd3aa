import { newId, UUID_PATTERN } from '@commonplace/kit/id';
import { expect, test } from '@jest/globals';
import { idsIn } from '../../src/documents/ids-in.js';

const ID = newId();
const PIECES = [ID, newId(), 'a', '-', '0000-', '-1111-2222-3333-', '\n', ' ', '_', ID.slice(4), ID.slice(0, -1), 'ä'];

test('the ids in a text are those that the pattern of whole ids matches', () => {
  const pattern = new RegExp(`\\b${UUID_PATTERN}\\b`, 'g');
  let state = 7;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return PIECES[state % PIECES.length] as string;
  };
  for (let i = 0; i < 3000; i++) {
    const text = [next(), next(), next(), next(), next()].join('');
    expect([text, idsIn(text)]).toEqual([text, text.match(pattern) ?? []]);
  }
});
