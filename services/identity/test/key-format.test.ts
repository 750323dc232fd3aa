import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { randomBase62, toBase62 } from '../src/domain/base62.js';
import { mintKey, parseKey } from '../src/domain/key-format.js';

const types = fc.constantFrom('personal' as const, 'org' as const);

describe('the format of API keys', () => {
  test('has the documented form, and parses back', () => {
    fc.assert(
      fc.property(types, (type) => {
        const { key, publicId, secret, prefix, last4 } = mintKey(type);
        expect(key).toMatch(/^wsk_[po]_[0-9A-Za-z]{12}_[0-9A-Za-z]{46}$/);
        expect(parseKey(key)).toEqual({ type, publicId, secret });
        expect(key.startsWith(`${prefix}_`)).toBe(true);
        expect(key.endsWith(last4)).toBe(true);
      }),
    );
  });

  test('detects one wrong character at any place', () => {
    fc.assert(
      fc.property(types, fc.nat(), fc.constantFrom(...'0aZ_-é '), (type, at, character) => {
        const { key } = mintKey(type);
        const place = at % key.length;
        const mistyped = key.slice(0, place) + character + key.slice(place + 1);
        expect(parseKey(mistyped) === undefined || mistyped === key).toBe(true);
      }),
    );
  });

  test('detects two swapped characters', () => {
    fc.assert(
      fc.property(types, fc.nat(), (type, at) => {
        const { key } = mintKey(type);
        const place = at % (key.length - 1);
        const swapped = key.slice(0, place) + key[place + 1] + key[place] + key.slice(place + 2);
        expect(parseKey(swapped) === undefined || swapped === key).toBe(true);
      }),
    );
  });

  test('never throws, whatever the text', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(parseKey(`wsk_p_${text}`)).toBeUndefined()));
  });

  test('uses CRC-32 in six base-62 digits as the checksum', () => {
    expect(toBase62(0, 6)).toBe('000000');
    expect(toBase62(2 ** 32 - 1, 6)).toBe('4gfFC3');
  });

  test('uses every digit', () => {
    expect(new Set(randomBase62(5000)).size).toBe(62);
  });
});
