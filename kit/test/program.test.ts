import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freshBundle } from '../src/program/index.js';

let root = '';
const folder = () => join(root, 'bundle');
const part = () => join(root, 'part.js');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bundle-'));
  mkdirSync(folder());
  writeFileSync(part(), 'export {};');
  const { mtimeMs, size } = statSync(part());
  writeFileSync(join(folder(), 'made-of.json'), JSON.stringify([['part.js', mtimeMs, size]]));
});

afterEach(() => rmSync(root, { recursive: true }));

test('a bundle is taken while all that it was made of is as it was', () => {
  expect(freshBundle('search', folder(), root)).toBe(pathToFileURL(join(folder(), 'search.js')).href);
});

test('one that was written again is not, be it as long as it was', () => {
  utimesSync(part(), new Date(), new Date(Date.now() + 5000));
  expect(freshBundle('search', folder(), root)).toBeUndefined();
});

test('nor is it with a part that has another length or is gone', () => {
  const { atime, mtime } = statSync(part());
  writeFileSync(part(), 'export {}; ');
  utimesSync(part(), atime, mtime);
  expect(freshBundle('search', folder(), root)).toBeUndefined();
  rmSync(part());
  expect(freshBundle('search', folder(), root)).toBeUndefined();
});

test('where none was made, or by halves, there is none', () => {
  writeFileSync(join(folder(), 'made-of.json'), '[["part.js", 1');
  expect(freshBundle('search', folder(), root)).toBeUndefined();
  expect(freshBundle('search', join(root, 'nowhere'), root)).toBeUndefined();
});
