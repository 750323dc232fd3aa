import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../src/system.js';

const TOP_FOLDERS = readdirSync(ROOT).filter((name) => statSync(join(ROOT, name)).isDirectory());
/** A path in code spans: a file or folder below one of the top folders, without placeholders. */
const PATH = new RegExp(`^(?:${TOP_FOLDERS.join('|')})/[\\w./-]+$`);
/** Paths that exist only after a person has added them, or a program has run. */
const CREATED: ReadonlySet<string> = new Set(['charts/previous']);

/** Folders of files that examples name without their path, as each service has them. */
const MORE_FOLDERS = ['services/files/src', 'services/messaging/src', 'services/all/src', 'acceptance/src/links'];

const CONTRIBUTING = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const EXAMPLES = CONTRIBUTING.slice(
  CONTRIBUTING.indexOf('## The cost in files'),
  CONTRIBUTING.indexOf('### The chart'),
);

function pathsIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span as string);
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => target as string);
  return [...new Set([...spans.filter((span) => PATH.test(span)), ...links.filter((link) => !link.includes(':'))])];
}

test.each(['CONTRIBUTING.md', 'ARCHITECTURE.md'])('every path that %s names exists', (page) => {
  const paths = pathsIn(readFileSync(join(ROOT, page), 'utf8'));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !CREATED.has(path) && !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every worked example of an addition names existing files of its folder', () => {
  const examples = EXAMPLES.split(/^### /m).slice(1);
  expect(examples.map((example) => example.split('\n')[0])).toEqual([
    'A new endpoint',
    'A background job',
    'A periodic sweep',
    'An event consumer',
    'A stream of server-sent events',
    'A service',
  ]);
  for (const example of examples) {
    const folders = pathsIn(example).filter((path) => statSync(join(ROOT, path)).isDirectory());
    const files = [...folders, ...MORE_FOLDERS].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }),
    );
    const known = new Set(files.map((file) => basename(file)));
    const named = [...example.matchAll(/`([\w-]+\.ts)`/g)].map(([, file]) => file as string);
    expect(named.filter((file) => !known.has(file))).toEqual([]);
  }
});

test('every table that a worked example names exists in its file', () => {
  const named = [...EXAMPLES.matchAll(/`([A-Z_]+)`\s+in\s+`([\w/.-]+\.\w+)`/g)];
  expect(named.length).toBeGreaterThan(2);
  const missing = named.filter(
    ([, table, file]) => !readFileSync(join(ROOT, file as string), 'utf8').includes(table as string),
  );
  expect(missing.map(([text]) => text)).toEqual([]);
});
