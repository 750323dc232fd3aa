import type { Bundle, ItemContent, OpenSource, SourceItem, SourceOptions } from '../port.js';
import { resolverOf } from './links.js';
import { baseName, isPage, nameOfPage } from './names.js';
import { readPage } from './page.js';
import { pagePath, sectionItems, sectionOf } from './split.js';
import { itemsOf } from './tree.js';

/** Opens a single Markdown page. The targets of its links are not available. */
export const openMarkdown: OpenSource = async (bundle, options) => {
  const [entry] = bundle.entries;
  if (entry === undefined) return { items: [], skipped: [], read: nothing, resolve: () => ({ outside: true }) };
  const name = nameOfPage(options.fileName ?? baseName(entry.path));
  const page: SourceItem = { path: entry.path, kind: 'document', name };
  return {
    items: await withSections([page], bundle, options),
    skipped: [],
    read: (item) => readItem(item, bundle, options),
    resolve: resolverOf([page], new Map()),
  };
};

/** Opens Markdown pages in folders, with their images and the files that they link to. */
export const openMarkdownZip: OpenSource = async (bundle, options) => {
  const { items, indexes, skipped } = itemsOf(bundle.entries);
  return {
    items: await withSections(items, bundle, options),
    skipped,
    read: (item) =>
      item.kind === 'document' && isPage(pagePath(item.path)) ? readItem(item, bundle, options) : nothing(),
    resolve: resolverOf(items, indexes),
  };
};

const nothing = async () => ({});

/** Adds the items of sections after their pages, if pages are to be split. A page that cannot be read has none. */
async function withSections(
  items: readonly SourceItem[],
  bundle: Bundle,
  { splitHeadings }: SourceOptions,
): Promise<readonly SourceItem[]> {
  if (splitHeadings !== true) return items;
  const all: SourceItem[] = [];
  for (const item of items) {
    all.push(item);
    if (item.kind !== 'document') continue;
    const { markdown = '' } = await readItem(item, bundle, {}).catch((): ItemContent => ({}));
    all.push(...sectionItems(item, markdown));
  }
  return all;
}

async function readItem(item: SourceItem, bundle: Bundle, { splitHeadings }: SourceOptions): Promise<ItemContent> {
  const entry = bundle.entry(item.path) ?? bundle.entry(pagePath(item.path));
  if (entry === undefined) return {};
  const page = await readPage(bundle, entry);
  return splitHeadings === true ? sectionOf(item, page) : page;
}
