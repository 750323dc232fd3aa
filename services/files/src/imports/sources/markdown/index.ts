import { rememberLast } from '../common/remember-last.js';
import type { Bundle, ItemContent, OpenSource, SourceItem, SourceOptions } from '../port.js';
import { resolverOf } from './links.js';
import { baseName, isPage, nameOfPage } from './names.js';
import { readPage } from './page.js';
import { pagePath, sectionItems, sectionOf, splitPage } from './split.js';
import { itemsOf } from './tree.js';

/** Opens a single Markdown page. The targets of its links are not available. */
export const openMarkdown: OpenSource = async (bundle, options) => {
  const [entry] = bundle.entries;
  if (entry === undefined) return { items: [], skipped: [], read: nothing, resolve: () => ({ outside: true }) };
  const name = nameOfPage(options.fileName ?? baseName(entry.path));
  const page: SourceItem = { path: entry.path, kind: 'document', name };
  const pages = createPages(bundle, options);
  return {
    items: await pages.withSections([page]),
    skipped: [],
    read: pages.read,
    resolve: resolverOf([page], new Map()),
  };
};

/** Opens Markdown pages in folders, with their images and the files that they link to. */
export const openMarkdownZip: OpenSource = async (bundle, options) => {
  const { items, indexes, skipped } = itemsOf(bundle.entries);
  const pages = createPages(bundle, options);
  return {
    items: await pages.withSections(items),
    skipped,
    read: (item) => (item.kind === 'document' && isPage(pagePath(item.path)) ? pages.read(item) : nothing()),
    resolve: resolverOf(items, indexes),
  };
};

const nothing = async () => ({});

interface Pages {
  /** Adds the items of sections after their pages, if pages are to be split. A page that cannot be read has none. */
  withSections(items: readonly SourceItem[]): Promise<readonly SourceItem[]>;
  read(item: SourceItem): Promise<ItemContent>;
}

function createPages(bundle: Bundle, { splitHeadings = false }: SourceOptions): Pages {
  const pageAt = rememberLast(async (path: string): Promise<ItemContent> => {
    const entry = bundle.entry(path);
    return entry === undefined ? {} : readPage(bundle, entry);
  });
  const sectionsIn = rememberLast(splitPage);
  return {
    async withSections(items) {
      if (!splitHeadings) return items;
      const all: SourceItem[] = [];
      for (const item of items) {
        all.push(item);
        if (item.kind !== 'document') continue;
        const { markdown = '' } = await pageAt(item.path).catch((): ItemContent => ({}));
        all.push(...sectionItems(item, sectionsIn(markdown)));
      }
      return all;
    },
    async read(item) {
      const page = await pageAt(bundle.entry(item.path) === undefined ? pagePath(item.path) : item.path);
      return splitHeadings ? sectionOf(item, page, sectionsIn(page.markdown ?? '')) : page;
    },
  };
}
