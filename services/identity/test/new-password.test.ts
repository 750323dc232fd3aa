import { expect, test } from '@jest/globals';
import { requireGoodPassword } from '../src/domain/new-password.js';

const ada = { email: 'ada.lovelace@analytical.example', name: 'Ada Lovelace' };
const check = (password: string, minLength = 8) =>
  requireGoodPassword('password', password, ada, { minLength, isBreached: async (one) => one === 'ｌｅａｋｅｄ it' });

test.each([
  ['short', 'short12'],
  ['common', 'password1'],
  ['common in other letters', 'PassWord1'],
  ['common in full-width letters', 'ｐａｓｓｗｏｒｄ１'],
  ['of digits alone and common', '12345678'],
  ['the address', 'ada.lovelace@analytical.example'],
  ['the name with a little more', 'Lovelace1!'],
  ['the product with a year', 'Commonplace2026'],
  ['breached', 'ｌｅａｋｅｄ it'],
])('refuses a password that is %s', async (_, password) => {
  await expect(check(password)).rejects.toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', reason: 'weak_password', param: 'password' }),
  );
});

test.each([
  'correct horse battery staple',
  'qzjwkxvp',
  'lovelace wrote the first program',
  'ünïcödé pässwörds äre fine',
  'a'.repeat(20) + 'q'.repeat(1000),
])('accepts %s, whatever characters it contains', async (password) => {
  await check(password);
});

test('enforces a higher minimum length that the operator sets', async () => {
  await expect(check('fourteen chars', 15)).rejects.toThrow(/15 characters/);
  await check('fifteen chars !', 15);
});
