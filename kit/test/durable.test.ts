import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeFolder, writeSmallFile } from '../src/durable/index.js';

describe('files that survive a power cut', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'commonplace-durable-'));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test('a folder is created with its missing parents, accessible to its owner only, and may exist already', () => {
    const folder = join(home, 'a/b/c');
    for (let i = 0; i < 2; i++) makeFolder(folder);
    for (const each of ['a', 'a/b', 'a/b/c']) expect(statSync(join(home, each)).mode & 0o777).toBe(0o700);
  });

  test('a folder that cannot be created is an error with its path', () => {
    const file = join(home, 'a-file');
    writeSmallFile(file, '');
    const codeOf = (path: string) => {
      try {
        makeFolder(path);
      } catch (error) {
        const { code, path: named } = error as NodeJS.ErrnoException;
        return [code, named];
      }
      return [];
    };
    expect(codeOf(file)).toEqual(['EEXIST', file]);
    expect(codeOf(join(file, 'below/it'))).toEqual(['ENOTDIR', join(file, 'below')]);
    // A file system that takes no folders; Node's own recursive creation does not end there.
    if (existsSync('/proc/self')) expect(codeOf('/proc/nowhere/below')).toEqual(['ENOENT', '/proc/nowhere']);
  });

  test('a file replaces the previous one, is accessible to its owner only, and leaves no temporary file', () => {
    const folder = join(home, 'files');
    makeFolder(folder);
    const file = join(folder, 'secret.key');
    for (const text of ['old and longer\n', 'new\n']) writeSmallFile(file, text);
    expect(readFileSync(file, 'utf8')).toBe('new\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['secret.key']);
  });

  test('a file in a missing folder is refused', () => {
    expect(() => writeSmallFile(join(home, 'nowhere/file'), '')).toThrow('ENOENT');
    expect(existsSync(join(home, 'nowhere'))).toBe(false);
  });
});
