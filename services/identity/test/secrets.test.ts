import { describe, expect, test } from '@jest/globals';
import { deriveKeys, parseSecrets } from '../src/domain/secrets.js';

const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => at * 7));

describe('COMMONPLACE_SECRET_KEY', () => {
  test('is read from hex, base64, base64url and text', () => {
    expect(parseSecrets(bytes.toString('hex'))).toEqual([bytes]);
    expect(parseSecrets(bytes.toString('base64'))).toEqual([bytes]);
    expect(parseSecrets(bytes.toString('base64url'))).toEqual([bytes]);
    const phrase = 'a long sentence that nobody else would think of';
    expect(parseSecrets(phrase)).toEqual([Buffer.from(phrase)]);
  });

  test('may be a list, with the current secret first', () => {
    const old = Buffer.alloc(32, 9);
    expect(parseSecrets(`${bytes.toString('hex')}, ${old.toString('base64')}`)).toEqual([bytes, old]);
  });

  test('is refused if any of its secrets is too short', () => {
    expect(() => parseSecrets('short')).toThrow('32 bytes');
    expect(() => parseSecrets(`${bytes.toString('hex')},short`)).toThrow('32 bytes');
    expect(() => parseSecrets(' , ')).toThrow('no secret');
  });

  test('gives each purpose its own key', () => {
    const keys = deriveKeys([bytes, Buffer.alloc(32, 9)]);
    const all = Object.values(keys).flatMap((list) => list.map((key: Buffer) => key.toString('hex')));
    expect(new Set(all).size).toBe(16);
    expect(all.every((key) => key.length === 64)).toBe(true);
  });
});
