import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { compiledFile, freshBundle, runBundle } from '../src/program/index.js';

let root = '';
const folder = () => join(root, 'dist', 'bundle');
const part = () => join(root, 'part.js');
const bundle = () => join(folder(), 'programs.cjs');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bundle-'));
  mkdirSync(folder(), { recursive: true });
  writeFileSync(part(), 'export {};');
  const { mtimeMs, size } = statSync(part());
  writeFileSync(
    join(folder(), 'made.json'),
    JSON.stringify({ file: 'programs.cjs', of: [['part.js', mtimeMs, size]] }),
  );
});

afterEach(() => rmSync(root, { recursive: true }));

test('a bundle is used while none of its files has changed', () => {
  expect(freshBundle(root)).toBe(bundle());
});

test('a bundle is not used after a file was written again, even with the same length', () => {
  utimesSync(part(), new Date(), new Date(Date.now() + 5000));
  expect(freshBundle(root)).toBeUndefined();
});

test('a bundle is not used if a file has another length or is missing', () => {
  const { atime, mtime } = statSync(part());
  writeFileSync(part(), 'export {}; ');
  utimesSync(part(), atime, mtime);
  expect(freshBundle(root)).toBeUndefined();
  rmSync(part());
  expect(freshBundle(root)).toBeUndefined();
});

test('there is no bundle if none was created, or only a part of it', () => {
  writeFileSync(join(folder(), 'made.json'), '{"file":"programs.cjs","of":[["part.js", 1');
  expect(freshBundle(root)).toBeUndefined();
  expect(freshBundle(join(root, 'nowhere'))).toBeUndefined();
});

describe('the script of a bundle', () => {
  const CODE = `(function (exports, require, module, __filename) {
    exports.programs = { paths: async () => ({ start: async () => [require('node:path').sep, __filename] }) };
  })`;
  const answer = async () => (await runBundle(bundle()).programs.paths?.())?.start();

  beforeEach(() => writeFileSync(bundle(), CODE));

  test('runs with its own path, and with the modules of Node', async () => {
    expect(await answer()).toEqual(['/', bundle()]);
  });

  test('runs with the code that was compiled for this engine', async () => {
    const { script } = runBundle(bundle());
    expect(script.cachedDataRejected).toBeUndefined();
    writeFileSync(compiledFile(bundle()), script.createCachedData());
    expect(runBundle(bundle()).script.cachedDataRejected).toBe(false);
    expect(await answer()).toEqual(['/', bundle()]);
  });

  test('runs if the compiled code is of another engine, or incomplete', async () => {
    const compiled = runBundle(bundle()).script.createCachedData();
    const unusable = { 'no code': Buffer.from('no code'), half: compiled.subarray(0, compiled.length / 2) };
    for (const [name, code] of Object.entries(unusable)) {
      // The engine remembers scripts of this process by their text.
      writeFileSync(bundle(), `${CODE} // ${name}`);
      writeFileSync(compiledFile(bundle()), code);
      expect(runBundle(bundle()).script.cachedDataRejected).toBe(true);
      expect(await answer()).toEqual(['/', bundle()]);
    }
  });
});
