import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const HOLDER = fileURLToPath(new URL('./idle-memory-holder.js', import.meta.url));
const MIB = 2 ** 20;

function hold(how: string): { readonly before: number; readonly after: number } {
  const flags = ['--max-semi-space-size=32', HOLDER, how];
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }));
}

test('an idle process returns the memory of its young generation to the system', () => {
  const { before, after } = hold('gives');
  expect(before).toBeGreaterThan(16 * MIB);
  expect(after).toBeLessThan(4 * MIB);
});

test('the engine keeps that memory by itself', () => {
  expect(hold('keeps').after).toBeGreaterThan(16 * MIB);
});
