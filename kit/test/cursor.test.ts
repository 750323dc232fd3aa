import { describe, expect, test } from '@jest/globals';
import { decodeCursor, encodeCursor, keyset } from '../src/store/index.js';

interface Thing {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly rank: number;
}

const THING: Thing = { id: 'i', version: 1, name: 'n 漢', rank: 0.5 };

describe('cursors', () => {
  test('a keyset is the values of the sort, then the id', () => {
    expect(keyset(THING, ['name', '-rank'])).toEqual(['n 漢', 0.5, 'i']);
    expect(keyset(THING)).toEqual(['i']);
    expect(keyset(THING, ['-id'])).toEqual(['i', 'i']);
  });

  test('come back as they were, in the characters of a URL', () => {
    const values = ['n 漢 😀 "\\', -0.5, true, ''];
    const text = encodeCursor(values);
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(decodeCursor(text)).toEqual(values);
  });

  test('that were not given are the fault of the request', () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const foreign = ['', 'x', '%%%', '{}', encode({}), encode([]), encode('a'), encode([null]), encode([['a']])];
    for (const text of foreign) {
      expect(() => decodeCursor(text)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', reason: 'invalid_pagination', param: 'cursor' }),
      );
    }
  });
});
