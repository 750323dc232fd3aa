import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createCaptcha } from '../../src/forms/captcha.js';

const MINUTE = 60_000;
const key = randomBytes(32);
const start = Date.parse('2026-01-01T00:00:00Z');

function opened(given: { bits?: number; now?: number; keys?: Buffer[] } = {}) {
  const { bits = 8, now = start, keys = [key] } = given;
  return createCaptcha({ masterKeys: keys, bits, validMs: 10 * MINUTE, now: () => now });
}

function proofOf(challenge: string, bits: number) {
  for (let n = 0; ; n++) {
    const text = `${challenge}.${n}`;
    if (createHash('sha256').update(`token::${text}`).digest().readUInt32BE(0) >>> (32 - bits) === 0)
      return { formToken: 'token', submissionId: '', text };
  }
}

test('a challenge is valid for its form until it expires', () => {
  const { challenge, bits, expiresAt } = opened().issue('form');
  expect([bits, expiresAt]).toEqual([8, '2026-01-01T00:10:00.000Z']);
  const proof = proofOf(challenge, bits);
  expect(opened().check('form', proof)).toMatchObject({ proven: { expiresAt } });
  expect(opened().check('other', proof)).toMatchObject({ fault: expect.stringContaining('no challenge of this form') });
  expect(opened({ now: start + 10 * MINUTE }).check('form', proof)).toMatchObject({
    fault: expect.stringContaining('has expired'),
  });
});

test('requires the work of the time when the challenge was issued', () => {
  const proof = proofOf(opened().issue('form').challenge, 8);
  expect(opened({ bits: 28 }).check('form', proof)).toHaveProperty('proven');
  const { challenge } = opened({ bits: 28 }).issue('form');
  const short = { formToken: 'token', submissionId: '', text: `${challenge}.0` };
  expect(opened().check('form', short)).toMatchObject({ fault: expect.stringContaining('not a proof of 28 bits') });
});

test('challenges remain valid after a key rotation, and are invalid under another key', () => {
  const proof = proofOf(opened().issue('form').challenge, 8);
  expect(opened({ keys: [randomBytes(32), key] }).check('form', proof)).toHaveProperty('proven');
  expect(opened({ keys: [randomBytes(32)] }).check('form', proof)).toHaveProperty('fault');
});

test('every challenge is spent separately, and a proof fits into the field', () => {
  const [one, two] = [opened().issue('form'), opened().issue('form')];
  expect(one.challenge).not.toBe(two.challenge);
  expect(`${one.challenge}.${'x'.repeat(32)}`.length).toBeLessThanOrEqual(255);
});
