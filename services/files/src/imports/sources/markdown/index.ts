import type { OpenSource, SourceItem } from '../port.js';
import { resolverOf } from './links.js';
import { baseName, isPage, nameOfPage } from './names.js';
import { readPage } from './page.js';
import { itemsOf } from './tree.js';

/** Opens a single Markdown page. The targets of its links are not available. */
export const openMarkdown: OpenSource = async (bundle, options) => {
  const [entry] = bundle.entries;
  if (entry === undefined) return { items: [], skipped: [], read: nothing, resolve: () => ({ outside: true }) };
  const name = nameOfPage(options.fileName ?? baseName(entry.path));
  const item: SourceItem = { path: entry.path, kind: 'document', name };
  return {
    items: [item],
    skipped: [],
    read: () => readPage(bundle, entry),
    resolve: resolverOf([item], new Map()),
  };
};

/** Opens Markdown pages in folders, with their images and the files that they link to. */
export const openMarkdownZip: OpenSource = async (bundle) => {
  const { items, indexes, skipped } = itemsOf(bundle.entries);
  return {
    items,
    skipped,
    async read(item) {
      const entry = bundle.entry(item.path);
      return item.kind === 'document' && entry !== undefined && isPage(item.path) ? readPage(bundle, entry) : {};
    },
    resolve: resolverOf(items, indexes),
  };
};

const nothing = async () => ({});
