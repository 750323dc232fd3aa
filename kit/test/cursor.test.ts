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
  test('a keyset consists of the values of the sort, then the id', () => {
    expect(keyset(THING, ['name', '-rank'])).toEqual(['n 漢', 0.5, 'i']);
    expect(keyset(THING)).toEqual(['i']);
    expect(keyset(THING, ['-id'])).toEqual(['i', 'i']);
  });

  test('are decoded unchanged, and consist of characters that are safe in a URL', () => {
    const values = ['n 漢 😀 "\\', -0.5, true, ''];
    const text = encodeCursor(values);
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(decodeCursor(text)).toEqual(values);
  });

  test('are refused as INVALID_ARGUMENT if the list did not issue them', () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const foreign = ['', 'x', '%%%', '{}', encode({}), encode([]), encode('a'), encode([null]), encode([['a']])];
    for (const text of foreign) {
      expect(() => decodeCursor(text)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', reason: 'invalid_pagination', param: 'cursor' }),
      );
    }
  });
});
