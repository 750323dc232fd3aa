import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createEnvelope, parseMasterKeys, SecretUnreadable } from '../src/secrets/index.js';

const master = randomBytes(32);
const envelope = createEnvelope([master]);
const owner = { tenant: 'acme', record: 'connector-1' };

describe('a sealed secret', () => {
  test('opens for its record, and is a different text each time', () => {
    const sealed = envelope.seal('pass phräse', owner);
    expect(envelope.open(sealed, owner)).toBe('pass phräse');
    expect(sealed).not.toContain('pass');
    expect(envelope.seal('pass phräse', owner)).not.toBe(sealed);
    expect(envelope.open(envelope.seal('', owner), owner)).toBe('');
  });

  test.each([
    ['another tenant', { ...owner, tenant: 'other' }],
    ['another record', { ...owner, record: 'connector-2' }],
    ['a boundary that was moved', { tenant: 'acmeconnector', record: '-1' }],
  ])('is refused to %s', (_, other) => {
    expect(() => envelope.open(envelope.seal('secret', owner), other)).toThrow(SecretUnreadable);
    expect(() => envelope.rewrap(envelope.seal('secret', owner), other)).toThrow(SecretUnreadable);
  });

  test('is refused if any of its characters was changed', () => {
    const sealed = envelope.seal('secret', owner);
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const tampered = sealed.slice(0, at) + other + sealed.slice(at + 1);
      // The last character of a base64 text may contain unused bits.
      if (
        Buffer.from(tampered.split('.')[3] ?? '', 'base64url').equals(
          Buffer.from(sealed.split('.')[3] ?? '', 'base64url'),
        )
      ) {
        if (tampered.split('.').slice(0, 3).join() === sealed.split('.').slice(0, 3).join()) continue;
      }
      expect(() => envelope.open(tampered, owner)).toThrow(SecretUnreadable);
    }
  });

  test.each(['', 'v1', 'v1.a.b', 'v2.a.b.c', 'v1.a.b.c.d', 'plain text'])('is refused if it is %j', (text) => {
    expect(() => envelope.open(text, owner)).toThrow(SecretUnreadable);
  });

  test('is refused if it is mixed from two secrets of the same owner', () => {
    const [a, b] = [envelope.seal('one', owner), envelope.seal('two', owner)].map((sealed) => sealed.split('.'));
    const mixed = [...(a ?? []).slice(0, 3), (b ?? [])[3]].join('.');
    expect(() => envelope.open(mixed, owner)).toThrow(SecretUnreadable);
  });
});

describe('rotation', () => {
  const next = randomBytes(32);
  const both = createEnvelope([next, master]);

  test('the old key still decrypts, and the new one encrypts', () => {
    const old = envelope.seal('secret', owner);
    expect(both.open(old, owner)).toBe('secret');
    expect([both.isCurrent(old), both.isCurrent(both.seal('secret', owner))]).toEqual([false, true]);
  });

  test('a secret that is wrapped again no longer needs the old key', () => {
    const again = both.rewrap(envelope.seal('secret', owner), owner);
    expect(both.isCurrent(again)).toBe(true);
    expect(createEnvelope([next]).open(again, owner)).toBe('secret');
    expect(() => envelope.open(again, owner)).toThrow(SecretUnreadable);
  });
});

describe('master keys', () => {
  test('are read in base64 and hex, the current one first', () => {
    const text = ` ${master.toString('base64')}, ${master.toString('hex')},${master.toString('base64url')}`;
    expect(parseMasterKeys(text)).toEqual([master, master, master]);
  });

  test.each(['', ',', 'short', 'correct horse battery staple correct horse'])('are refused if they are %j', (text) => {
    expect(() => parseMasterKeys(text)).toThrow();
  });
});
