import type { Bundle, ItemContent, OpenSource, SourceItem } from '../port.js';
import { resolverOf } from './links.js';
import { baseName, isPage, nameOfPage } from './names.js';
import { readPage } from './page.js';
import { itemsOf } from './tree.js';

/** Opens a single Markdown page. The targets of its links are not available. */
export const openMarkdown: OpenSource = async (bundle, options) => {
  const [entry] = bundle.entries;
  if (entry === undefined) return { items: [], skipped: [], read: nothing, resolve: () => ({ outside: true }) };
  const name = nameOfPage(options.fileName ?? baseName(entry.path));
  const page: SourceItem = { path: entry.path, kind: 'document', name };
  return { items: [page], skipped: [], read: pagesOf(bundle), resolve: resolverOf([page], new Map()) };
};

/** Opens Markdown pages in folders, with their images and the files that they link to. */
export const openMarkdownZip: OpenSource = async (bundle) => {
  const { items, indexes, skipped } = itemsOf(bundle.entries);
  const readItem = pagesOf(bundle);
  return {
    items,
    skipped,
    read: (item) => (item.kind === 'document' && isPage(item.path) ? readItem(item) : nothing()),
    resolve: resolverOf(items, indexes),
  };
};

const nothing = async () => ({});

const pagesOf =
  (bundle: Bundle) =>
  async ({ path }: SourceItem): Promise<ItemContent> => {
    const entry = bundle.entry(path);
    return entry === undefined ? {} : readPage(bundle, entry);
  };
