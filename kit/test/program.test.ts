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

test('a bundle is used while none of its files has changed', () => {
  expect(freshBundle('search', folder(), root)).toBe(pathToFileURL(join(folder(), 'search.js')).href);
});

test('a bundle is not used after a file was written again, even with the same length', () => {
  utimesSync(part(), new Date(), new Date(Date.now() + 5000));
  expect(freshBundle('search', folder(), root)).toBeUndefined();
});

test('a bundle is not used if a file has another length or is missing', () => {
  const { atime, mtime } = statSync(part());
  writeFileSync(part(), 'export {}; ');
  utimesSync(part(), atime, mtime);
  expect(freshBundle('search', folder(), root)).toBeUndefined();
  rmSync(part());
  expect(freshBundle('search', folder(), root)).toBeUndefined();
});

test('there is no bundle if none was created, or only a part of it', () => {
  writeFileSync(join(folder(), 'made-of.json'), '[["part.js", 1');
  expect(freshBundle('search', folder(), root)).toBeUndefined();
  expect(freshBundle('search', join(root, 'nowhere'), root)).toBeUndefined();
});
