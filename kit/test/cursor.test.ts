import { describe, expect, test } from '@jest/globals';
import { decodeCursor, encodeCursor, keyset, sealCursor, unsealCursor } from '../src/store/index.js';

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

  test('can have a seal, which decoding ignores', () => {
    const cursor = encodeCursor(['n 漢 ', 1, 'i']);
    const sealed = sealCursor(cursor, 'a-_9');
    expect(decodeCursor(sealed)).toEqual(['n 漢 ', 1, 'i']);
    expect(unsealCursor(sealed)).toEqual({ cursor, seal: 'a-_9' });
    expect(unsealCursor(cursor)).toEqual({ cursor });
  });

  test('have one seal for each service that passes the list on', () => {
    const inner = sealCursor(encodeCursor(['i']), 'inner');
    expect(unsealCursor(sealCursor(inner, 'outer'))).toEqual({ cursor: inner, seal: 'outer' });
  });

  test('of another form are not sealed', () => {
    for (const text of ['', 'evt_01', 'position.of-something']) {
      expect(sealCursor(text, 'seal')).toBe(text);
      expect(unsealCursor(text)).toEqual({ cursor: text });
    }
  });
});
