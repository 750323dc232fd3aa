import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openBreachedPasswords } from '../src/breached-passwords.js';
import { openHarness } from './support/harness.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'breached-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hashOf = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase();

/** Writes a list of passwords. Returns its file. */
function listOf(passwords: readonly string[], lineOf: (hash: string, i: number) => string, end: string): string {
  const file = join(folder, `${Math.random()}.txt`);
  const lines = passwords.map(hashOf).sort().map(lineOf);
  writeFileSync(file, lines.join(end) + (end === '\r\n' ? end : ''));
  return file;
}

const PLAIN = (hash: string) => hash;
const COUNTED = (hash: string, i: number) => `${hash}:${10 ** (i % 9)}`;

describe('a list of breached passwords', () => {
  test.each([
    [1, PLAIN, '\n'],
    [2, COUNTED, '\r\n'],
    [3, COUNTED, '\n'],
    [1000, COUNTED, '\r\n'],
    [1001, PLAIN, '\n'],
  ])('with %d lines contains each of them and no other', async (count, lineOf, end) => {
    const passwords = Array.from({ length: count }, (_, i) => `known ${i}`);
    const list = await openBreachedPasswords(listOf(passwords, lineOf, end));
    try {
      const known = await Promise.all(passwords.map((one) => list.has(one)));
      const others = await Promise.all(passwords.map((one) => list.has(`${one}!`)));
      expect([known.every(Boolean), others.some(Boolean)]).toEqual([true, false]);
    } finally {
      await list.close();
    }
  });

  test('is refused if it has another format or is missing', async () => {
    const file = join(folder, 'other.txt');
    writeFileSync(file, 'password\n123456\n');
    await expect(openBreachedPasswords(file)).rejects.toThrow(`${file} has no SHA-1 hash`);
    await expect(openBreachedPasswords(join(folder, 'none'))).rejects.toThrow('ENOENT');
  });

  test('is looked up for each new password', async () => {
    const BREACHED = 'a long password that leaked';
    const file = listOf([BREACHED, 'another'], COUNTED, '\n');
    const harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_BREACHED_PASSWORDS: file });
    try {
      const { auth, security, call } = harness;
      const ada = { email: 'ada@example.com', name: 'Ada', invitationToken: '', clientIp: '', userAgent: '' };
      const weak = { code: 'INVALID_ARGUMENT', reason: 'weak_password' };
      await expect(auth.signUp({ ...ada, password: BREACHED }, call())).rejects.toMatchObject(weak);
      const { session } = await auth.signUp({ ...ada, password: 'one that nobody has' }, call());
      const change = (newPassword: string) => {
        const request = { session, currentPassword: 'one that nobody has', newPassword, code: '', clientIp: '' };
        return security.changePassword(request, call());
      };
      await expect(change(BREACHED)).rejects.toMatchObject(weak);
      await change(`${BREACHED} not`);
    } finally {
      await harness.close();
    }
  });
});
