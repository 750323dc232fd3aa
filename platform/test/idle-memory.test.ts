import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const HOLDER = fileURLToPath(new URL('./idle-memory-holder.js', import.meta.url));
const MIB = 2 ** 20;

/** Bytes of a process's young generation at four moments, which the holder names. */
type Held = Readonly<Record<'busy' | 'paused' | 'again' | 'rested', number>>;

function hold(how: string): Held {
  const flags = ['--max-semi-space-size=32', HOLDER, how];
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }));
}

test('an idle process returns the memory of its young generation to the system, soon after its start and later after a long pause', () => {
  const { busy, paused, again, rested } = hold('gives');
  expect(busy).toBeGreaterThan(16 * MIB);
  expect(paused).toBeLessThan(4 * MIB);
  expect(again).toBeGreaterThan(16 * MIB);
  expect(rested).toBeLessThan(4 * MIB);
});

test('the engine keeps that memory by itself', () => {
  expect(hold('keeps').rested).toBeGreaterThan(16 * MIB);
});
