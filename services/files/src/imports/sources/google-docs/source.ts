import type { Readable } from 'node:stream';
import { createPathIndex, isOutside, resolveRelative } from '../common/links.js';
import { extensionOf, folderOf, foldersAbove, join, nameOf, stemOf } from '../common/paths.js';
import { rememberLast } from '../common/remember-last.js';
import { cleanName } from '../common/text.js';
import { arrange } from '../common/tree.js';
import { MAX_CSV_BYTES, readCsv } from '../csv/parse.js';
import { imageItems, openPart, readWord, type WordDocument } from '../docx/word.js';
import { cleanHtml } from '../html/clean.js';
import { findNamed, loadHtml } from '../html/dom.js';
import { headOfPage, MAX_PAGE_BYTES, treeOf } from '../html/page.js';
import { sortOut } from '../html/source.js';
import { sectionItems, sectionOf, splitSections, wholePath } from '../html/split.js';
import {
  type Bundle,
  ImportFault,
  type ItemContent,
  type OpenSource,
  type SourceItem,
  type SourceOptions,
} from '../port.js';
import { readWorkbookItem, workbookItems } from '../xlsx/source.js';
import { prepared, takeTitle, unwrapped } from './prepare.js';

const isWord = (path: string): boolean => /^do[ct][xm]$/.test(extensionOf(path));
const isBook = (path: string): boolean => /^xl[st][xm]$/.test(extensionOf(path));
const isValues = (path: string): boolean => /^[ct]sv$/.test(extensionOf(path));

async function readGooglePage(bundle: Bundle, path: string): Promise<ItemContent> {
  const root = treeOf(await bundle.read(path, MAX_PAGE_BYTES));
  const whole = prepared(root);
  const { title, body } = takeTitle(findNamed(whole, 'body') ?? whole);
  const { html, losses } = cleanHtml(body.children);
  return { ...headOfPage(root), title: title || undefined, html, warnings: losses.list() };
}

/** Holds the items of an export, and which files they are read from. */
interface Plan {
  readonly items: SourceItem[];
  readonly skipped: { path: string; code: string; message: string }[];
  /** Paths of workbooks, by the path of an item. */
  readonly books: Map<string, string>;
  /** Images of Word documents: the document's path and the part's name. */
  readonly parts: Map<string, { readonly path: string; readonly part: string }>;
}

async function plan(bundle: Bundle, options: SourceOptions): Promise<Plan> {
  const { pages, files, skipped } = sortOut(bundle);
  const books = new Map<string, string>();
  const parts = new Map<string, { path: string; part: string }>();
  const below: SourceItem[] = [];
  const leaves: SourceItem[] = [];
  const owners = new Map<string, string>();
  const folders = new Set(bundle.entries.flatMap(({ path }) => foldersAbove(path)));
  const besides = new Map<string, number>();
  for (const path of pages) besides.set(folderOf(path), (besides.get(folderOf(path)) ?? 0) + 1);
  for (const path of pages) {
    leaves.push({ path, kind: 'document', name: cleanName(stemOf(path)) });
    // Google puts the images of a single page into a folder of this name beside it.
    const alone = besides.get(folderOf(path)) === 1;
    for (const folder of [join(folderOf(path), 'images'), `${path.replace(/\.[^.]+$/, '')}_images`])
      if (folders.has(folder) && (alone || !folder.endsWith('/images'))) owners.set(folder, path);
    if (options.splitHeadings === true) {
      const page = await readGooglePage(bundle, path).catch(() => ({ html: '' }));
      below.push(...sectionItems({ path, kind: 'document', name: '' }, splitSections(page.html ?? '')));
    }
  }
  for (const path of files) {
    if (isWord(path)) {
      leaves.push({ path, kind: 'document', name: cleanName(stemOf(path)) });
      const images = await readWord(bundle, path).then(
        (document) => document.images,
        () => [],
      );
      for (const image of imageItems(path, images)) {
        below.push(image);
        parts.set(image.path, { path, part: image.path.slice(path.length + 1) });
      }
    } else if (isBook(path)) {
      const name = cleanName(stemOf(path));
      const items = await workbookItems(bundle, path, name).catch((): SourceItem[] => [{ path, kind: 'table', name }]);
      leaves.push(...items.slice(0, 1));
      below.push(...items.slice(1));
      for (const item of items) books.set(item.path, path);
    } else if (isValues(path)) leaves.push({ path, kind: 'table', name: cleanName(stemOf(path)) });
    else leaves.push({ path, kind: 'file', name: cleanName(nameOf(path)), entry: path });
  }
  return { items: [...arrange(leaves, owners), ...below], skipped, books, parts };
}

/**
 * Opens an export of Google: a document as a web page with its images, or a folder of Drive with documents as Word
 * files and sheets as workbooks.
 */
export const openGoogleDocsSource: OpenSource = async (bundle, options) => {
  await loadHtml();
  const { items, skipped, books, parts } = await plan(bundle, options);
  if (!items.some(({ kind }) => kind === 'document' || kind === 'table'))
    throw new ImportFault('no_pages', 'The source contains no page, document or sheet.');
  const index = createPathIndex();
  for (const { path, kind } of items) if (kind !== 'folder') index.set(path, path);
  const split = new Set(items.flatMap(({ path }) => (wholePath(path) === path ? [] : [wholePath(path)])));

  const wholePage = rememberLast((path: string) => readGooglePage(bundle, path));
  const sectionsIn = rememberLast(splitSections);

  async function read(item: SourceItem): Promise<ItemContent> {
    const book = books.get(item.path);
    if (book !== undefined) return readWorkbookItem(bundle, book, item, options);
    if (item.kind === 'table') {
      const { table, warnings } = readCsv(await bundle.read(item.path, MAX_CSV_BYTES), item.path, options.csv);
      return { json: table, warnings };
    }
    if (item.kind !== 'document') return {};
    const path = wholePath(item.path);
    if (isWord(path)) return ((await readWord(bundle, path)) satisfies WordDocument).content;
    const whole = await wholePage(path);
    return split.has(path) ? sectionOf(item, whole, sectionsIn(whole.html ?? '')) : whole;
  }

  return {
    items,
    skipped,
    read,
    openFile(item): Promise<Readable> {
      const part = parts.get(item.path);
      if (part === undefined) throw new ImportFault('missing_file', `${item.path} is not a file in the export.`);
      return openPart(bundle, part.path, part.part);
    },
    resolve(from, given) {
      const href = unwrapped(given);
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      if (isOutside(href)) return { outside: true };
      const own = index.get(`${wholePath(from.path)}/${href}`);
      return own === undefined ? resolveRelative(wholePath(from.path), href, index, ['.html', '.docx']) : { item: own };
    },
    notes: ['An export of Google Docs has no comments that were resolved, no suggestions and no earlier versions.'],
  };
};
