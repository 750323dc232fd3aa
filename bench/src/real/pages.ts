import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { depthOf, folderOf, nameOf, readHandbook } from '@commonplace/acceptance/dist/src/handbook.js';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';

/** A Markdown page of at most `PAGE_BYTES` bytes, and the path of its folder. */
export interface Page {
  readonly folder: string;
  readonly name: string;
  readonly markdown: string;
}

/** Pages of real text, their folders with parents first, and the source of the text. */
export interface Pages {
  readonly pages: readonly Page[];
  readonly folders: readonly string[];
  readonly source: string;
}

const PAGE_BYTES = 4096;
/** Minimum size of a part as a fraction of a page. Smaller parts are dropped, so that all pages have about 4 KB. */
const SMALLEST_SHARE = 0.75;

/**
 * Reads at most `count` pages of 4 KB from a company's handbook in the test data (`COMMONPLACE_TEST_DATA`), otherwise
 * from the documentation of this repository, which is smaller. Texts are split at empty lines; nothing is generated.
 */
export function readPages(count: number): Pages {
  const handbook = readHandbook();
  const texts = handbook?.pages ?? readDocumentation();
  const all = [...texts].flatMap(([path, text]) =>
    partsOf(text).map((markdown, i) => ({
      folder: folderOf(path) || 'top',
      name: `${nameOf(path)} ${i + 1}`,
      markdown,
    })),
  );
  const pages = spread(all, count);
  const folders = [...new Set(pages.flatMap(({ folder }) => foldersTo(folder)))].sort(
    (a, b) => depthOf(a) - depthOf(b),
  );
  const source = handbook === undefined ? 'the documentation of this repository (no handbook.zip)' : 'handbook.zip';
  return { pages, folders, source };
}

/** Returns the repository's Markdown files by path. */
function readDocumentation(): ReadonlyMap<string, string> {
  const paths = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const files = paths.filter((path) => path.endsWith('.md')).sort();
  return new Map(files.map((path) => [path, readFileSync(join(ROOT, 'docs', path), 'utf8')]));
}

/** Splits a text at empty lines into parts that fill a page. Parts smaller than `SMALLEST_SHARE` are dropped. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (const block of text.split(/\n{2,}/)) {
    const longer = part === '' ? block : `${part}\n\n${block}`;
    if (Buffer.byteLength(longer) <= PAGE_BYTES) part = longer;
    else {
      parts.push(part);
      part = Buffer.byteLength(block) <= PAGE_BYTES ? block : '';
    }
  }
  return [...parts, part].filter((one) => Buffer.byteLength(one) >= PAGE_BYTES * SMALLEST_SHARE);
}

/** Returns the folders from the top down to a path, including the path itself. */
function foldersTo(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

/** Selects `count` elements at equal distances. */
function spread<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all];
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** Number of words of a query, in turn. */
const QUERY_WORDS = [1, 2, 2, 3, 3, 4];

/**
 * Returns at most `count` distinct queries of one to four consecutive words from the pages. The same pages yield the
 * same queries.
 */
export function queriesOf(pages: readonly Page[], count: number): string[] {
  const words = pages.map(({ markdown }) => markdown.match(/\p{L}{3,}/gu) ?? []);
  const queries = new Set<string>();
  for (let i = 0; queries.size < count && i < count * 4; i++) {
    const from = words[i % words.length] as string[];
    const length = QUERY_WORDS[i % QUERY_WORDS.length] as number;
    const at = (i * 7919) % Math.max(1, from.length - length);
    queries.add(
      from
        .slice(at, at + length)
        .join(' ')
        .toLowerCase(),
    );
  }
  queries.delete('');
  return [...queries];
}
