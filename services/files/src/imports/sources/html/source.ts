import { createPathIndex, resolveRelative } from '../common/links.js';
import { extensionOf, folderOf, foldersAbove, isImage, isLitter, nameOf, stemOf } from '../common/paths.js';
import { cleanName } from '../common/text.js';
import { arrange, type SkippedEntry } from '../common/tree.js';
import { type Bundle, ImportFault, type OpenSource, type SourceItem } from '../port.js';
import { loadHtml } from './dom.js';
import { MAX_PAGE_BYTES, readPage } from './page.js';

const PAGES = new Set(['html', 'htm', 'xhtml', 'xht']);
/** Extensions of style sheets, scripts and fonts, which hold no content. */
const PRESENTATION = new Set('css scss less js mjs cjs map woff woff2 ttf otf eot'.split(' '));
/** Ends of a page's path that links may omit. */
const ENDINGS = ['.html', '.htm', '/index.html', '/index.htm'];

const isPage = (path: string): boolean => PAGES.has(extensionOf(path));
const isIndex = (path: string): boolean => /^(?:index|default)$/i.test(stemOf(path));
const withoutExtension = (path: string): string => path.replace(/\.[^./]+$/, '');

/** Returns the name that a page has before it is read. */
function pageName(path: string): string {
  const name = isIndex(path) && folderOf(path) !== '' ? nameOf(folderOf(path)) : stemOf(path);
  return cleanName(name.replaceAll('_', ' '));
}

/** Maps a folder to the page that its content lies below: the one of the same name beside it, or else its index. */
function ownersOf(pages: readonly string[], folders: ReadonlySet<string>): Map<string, string> {
  const owners = new Map<string, string>();
  for (const path of pages) {
    const stem = withoutExtension(path);
    for (const folder of [stem, `${stem}_files`]) if (folders.has(folder)) owners.set(folder, path);
  }
  for (const path of pages) {
    const folder = folderOf(path);
    if (isIndex(path) && folder !== '' && !owners.has(folder)) owners.set(folder, path);
  }
  return owners;
}

/** Classifies entries: pages, files to import, and files to skip. */
export function sortOut(bundle: Bundle): { pages: string[]; files: string[]; skipped: SkippedEntry[] } {
  const skipped: SkippedEntry[] = [];
  const pages: string[] = [];
  const files: string[] = [];
  for (const { path } of bundle.entries) {
    if (isLitter(path))
      skipped.push({ path, code: 'system_file', message: 'A file that the operating system created.' });
    else if (PRESENTATION.has(extensionOf(path)))
      skipped.push({ path, code: 'presentation', message: 'A style, script or font of the pages.' });
    else (isPage(path) ? pages : files).push(path);
  }
  return { pages, files, skipped };
}

function itemsOf(bundle: Bundle, pages: readonly string[], files: readonly string[]): SourceItem[] {
  const folders = new Set(bundle.entries.flatMap(({ path }) => foldersAbove(path)));
  const isPagePath = new Set(pages);
  const isFilePath = new Set(files);
  const leaves = bundle.entries.flatMap(({ path }): SourceItem[] => {
    if (isPagePath.has(path)) return [{ path, kind: 'document', name: pageName(path) }];
    if (!isFilePath.has(path)) return [];
    const file = { path, kind: 'file', name: cleanName(nameOf(path)), entry: path } as const;
    return [isImage(path) ? file : { ...file, onlyIfLinked: true }];
  });
  return arrange(leaves, ownersOf(pages, folders));
}

/** Opens one HTML page, or a tree of pages with their images and the files that they link to. */
export const openHtmlSource: OpenSource = async (bundle, options) => {
  await loadHtml();
  const [only] = bundle.entries;
  const isSingle = bundle.entries.length === 1 && only !== undefined;
  // A single file is a page, whatever its extension.
  const sorted = isSingle ? { pages: [only.path], files: [], skipped: [] } : sortOut(bundle);
  if (sorted.pages.length === 0)
    throw new ImportFault('no_pages', 'The source contains no HTML page (.html, .htm, .xhtml).');
  const items = itemsOf(bundle, sorted.pages, sorted.files);
  const index = createPathIndex();
  for (const { path, kind } of items) if (kind !== 'folder') index.set(path, path);
  const fileName = isSingle && options.fileName !== undefined ? cleanName(stemOf(options.fileName)) : undefined;

  return {
    items,
    skipped: sorted.skipped,
    async read({ path, kind }) {
      if (kind !== 'document') return {};
      const page = readPage(await bundle.read(path, MAX_PAGE_BYTES));
      return {
        ...page,
        title: page.title ?? fileName,
        updatedAt: page.updatedAt ?? bundle.entry(path)?.modifiedAt,
      };
    },
    resolve(from, href) {
      if (/^\s*(?:#|\?|$)/.test(href)) return { item: from.path };
      return resolveRelative(from.path, href, index, ENDINGS);
    },
  };
};
