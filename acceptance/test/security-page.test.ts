import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { REQUIREMENTS } from '../src/asvs.js';
import { ROOT } from '../src/system.js';

interface Row {
  readonly id: string;
  readonly level: string;
  readonly short: string;
  readonly state: string;
  readonly evidence: string;
}

const SECURITY = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const WALK = readFileSync(join(ROOT, 'docs/security/asvs.md'), 'utf8');

const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const rows: Row[] = WALK.split('\n')
  .filter((line) => /^\| V\d/.test(line))
  .map((line) => {
    const [id = '', level = '', short = '', state = '', evidence = ''] = cellsOf(line);
    return { id, level, short, state, evidence };
  });
const held = rows.filter(({ state }) => state === 'held');

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');
const anchors = new Set([...SECURITY.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));

describe('the walk through ASVS', () => {
  test('has each requirement of level 1 and level 2 once, in its order', () => {
    expect(REQUIREMENTS).toHaveLength(253);
    expect(rows.map(({ id, level }) => `${id} ${level}`)).toEqual(
      REQUIREMENTS.map(({ id, level }) => `${id} ${level}`),
    );
  });

  test('marks each as held, not applicable or open, with a reason', () => {
    for (const { id, short, state, evidence } of rows) {
      expect([id, state]).toEqual([id, expect.stringMatching(/^(held|n\.a\.|open)$/)]);
      expect([id, short.split(' ').length, evidence.length > 10]).toEqual([id, expect.any(Number), true]);
      expect([id, short.split(' ').length <= 12]).toEqual([id, true]);
    }
  });

  test('names an existing test or section for each that is held', () => {
    for (const { id, evidence } of held) {
      const files = [...evidence.matchAll(/`([\w./-]+\.(?:test\.ts|mjs))`/g)].map(([, file = '']) => file);
      const sections = [...evidence.matchAll(/\(\.\.\/security\.md#([\w-]+)\)/g)].map(([, anchor = '']) => anchor);
      expect([id, files.length + sections.length > 0]).toEqual([id, true]);
      expect([id, files.filter((file) => !existsSync(join(ROOT, file)))]).toEqual([id, []]);
      expect([id, sections.filter((anchor) => !anchors.has(anchor))]).toEqual([id, []]);
    }
  });

  test('quotes only names of tests that exist in the file before them', () => {
    for (const { id, evidence } of rows) {
      for (const [, file = '', name = ''] of evidence.matchAll(/`([\w./-]+\.test\.ts)` “([^”]+)”/g)) {
        expect([id, name, readFileSync(join(ROOT, file), 'utf8').includes(name)]).toEqual([id, name, true]);
      }
    }
  });

  test('is summarized by chapter', () => {
    const sums = SECURITY.split('\n')
      .filter((line) => /^\| V\d+ /.test(line))
      .map((line) => cellsOf(line).filter((_, column) => column !== 1));
    const chapters = [...new Set(rows.map(({ id }) => id.split('.')[0] ?? ''))];
    const count = (chapter: string, wanted: string) =>
      String(rows.filter(({ id, state }) => id.startsWith(`${chapter}.`) && state === wanted).length);
    expect(sums).toEqual(
      chapters.map((chapter) => [chapter, count(chapter, 'held'), count(chapter, 'n.a.'), count(chapter, 'open')]),
    );
  });
});

test('npm run sbom prints every dependency as CycloneDX', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string;
    components: { name: string; version: string; purl?: string }[];
  };
  const names = new Set(components.map(({ name }) => name));
  expect(bomFormat).toBe('CycloneDX');
  for (const name of ['koa', '@grpc/grpc-js', '@node-rs/argon2']) expect([name, names.has(name)]).toEqual([name, true]);
  const unknown = components.filter(({ purl }) => purl === undefined);
  expect(unknown.map(({ name }) => name)).toEqual([]);
});
