import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type { Priorities } from './priority-entry.js';

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('a process lowers the priority of all its threads, and a thread its own alone', () => {
  const entry = fileURLToPath(new URL('./priority-entry.js', import.meta.url));
  const { lowered, others } = JSON.parse(execFileSync(process.execPath, [entry], { encoding: 'utf8' })) as Priorities;
  expect(lowered).toBe(9);
  expect(others.length).toBeGreaterThan(4);
  expect(new Set(others)).toEqual(new Set([7]));
});
