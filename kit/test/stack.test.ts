import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inSources } from '../src/program/index.js';

let folder = '';
const url = (name: string) => pathToFileURL(join(folder, name)).href;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stack-'));
  // Maps the first position of the first line to line 3, column 5 of the source.
  const map = { version: 3, sources: ['../src/part.ts'], names: [], mappings: 'AAEI' };
  writeFileSync(join(folder, 'bundled.js.map'), JSON.stringify(map));
});

afterAll(() => rmSync(folder, { recursive: true }));

test('a position with a source map is mapped to its source', () => {
  const stack = `Error: no\n    at act (${url('bundled.js')}:1:1)\n    at ${url('bundled.js')}:1:1`;
  const source = `${url('../src/part.ts')}:3:5`;
  expect(inSources(stack)).toBe(`Error: no\n    at act (${source})\n    at ${source}`);
});

test('any other position is kept', () => {
  const stack = `Error: no\n    at act (${url('plain.js')}:1:1)\n    at node:internal/main:5:3`;
  expect(inSources(stack)).toBe(stack);
});
