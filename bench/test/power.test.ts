import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDisk } from '../src/power/disk.js';
import { writeImage, writeWhole } from '../src/power/image.js';
import { createRandom } from '../src/power/random.js';
import type { Entry } from '../src/power/recording.js';

const IMAGES = 200;
const ROOT = '/data';
const CREATE = 0o100;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'commonplace-power-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const open = (path: string, flags = CREATE): Entry => ({ kind: 'open', file: path, path: ROOT + path, flags });
const write = (path: string, at: number, text: string): Entry => ({
  kind: 'write',
  file: path,
  at,
  data: Buffer.from(text),
});
const sync = (file: string): Entry[] => [
  { kind: 'sync', file, ticket: file },
  { kind: 'synced', ticket: file },
];
const syncFolder = (): Entry[] => [{ kind: 'open', file: 'root', path: ROOT, flags: 0 }, ...sync('root')];
const rename = (from: string, to: string): Entry => ({ kind: 'rename', path: ROOT + from, to: ROOT + to });

/** What images after these entries hold under a name: each text once; `-` for a file that is not there. */
function outcomes(entries: readonly Entry[], ...names: string[]): string[] {
  const disk = createDisk(ROOT);
  for (const entry of entries) disk.apply(entry);
  const found = new Set<string>();
  for (let seed = 0; seed < IMAGES; seed++) {
    const target = join(home, 'image');
    writeImage(disk, target, createRandom(seed));
    const texts = names.map((name) => (existsSync(target + name) ? readFileSync(target + name, 'utf8') : '-'));
    found.add(texts.join('|'));
    rmSync(target, { recursive: true });
  }
  return [...found].sort();
}

describe('what a power cut leaves', () => {
  const durable = [open('/a'), write('/a', 0, 'old'), ...sync('/a'), ...syncFolder()];

  test('of a file that is synced, with its name, all', () => {
    expect(outcomes(durable, '/a')).toEqual(['old']);
  });

  test('of a file that is synced without its name, all or nothing', () => {
    expect(outcomes([open('/a'), write('/a', 0, 'old'), ...sync('/a')], '/a')).toEqual(['-', 'old']);
  });

  test('of a name without its file, any part of the file', () => {
    const entries = [open('/a'), write('/a', 0, 'x'.repeat(512)), write('/a', 512, 'y'.repeat(512)), ...syncFolder()];
    const kinds = outcomes(entries, '/a').map((text) => text.replace(/(.)\1*/g, '$1'));
    expect(kinds).toEqual(['', '\0y', 'x', 'xy']);
  });

  test('of writes since the last sync, each or none, and nothing of what came before is lost', () => {
    const entries = [...durable, write('/a', 3, 'new'), { kind: 'truncate', file: '/a', size: 4 } as const];
    expect(outcomes(entries, '/a')).toEqual(['old', 'old\0', 'oldn', 'oldnew']);
  });

  test('of what is written while a sync runs, any part', () => {
    const [begin, end] = sync('/a') as [Entry, Entry];
    const entries = [...durable, write('/a', 0, 'new'), begin, write('/a', 3, '!'), end];
    expect(outcomes(entries, '/a')).toEqual(['new', 'new!']);
  });

  test('of a rename, one name or the other', () => {
    const entries = [...durable, open('/b'), write('/b', 0, 'new'), ...sync('/b'), ...syncFolder(), rename('/b', '/a')];
    expect(outcomes(entries, '/a', '/b')).toEqual(['new|-', 'old|new']);
    expect(outcomes([...entries, ...syncFolder()], '/a', '/b')).toEqual(['new|-']);
  });
});

test('where nothing is lost, all that was written is there', () => {
  const disk = createDisk(ROOT);
  for (const entry of [open('/a'), write('/a', 2, 'text'), rename('/a', '/b')]) disk.apply(entry);
  writeWhole(disk, join(home, 'whole'));
  expect(readFileSync(join(home, 'whole/b'), 'utf8')).toBe('\0\0text');
});
