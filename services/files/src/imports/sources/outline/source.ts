import { createPathIndex, isOutside, resolveRelative } from '../common/links.js';
import { extensionOf, folderOf, foldersAbove, isLitter, nameOf, stemOf } from '../common/paths.js';
import { cleanName, oneLine, readText, wellFormed } from '../common/text.js';
import { arrange, type SkippedEntry } from '../common/tree.js';
import { loadHtml } from '../html/dom.js';
import { MAX_PAGE_BYTES, readPage } from '../html/page.js';
import { type Bundle, ImportFault, type ItemContent, type OpenSource, type Source, type SourceItem } from '../port.js';
import { openOutlineJson, outlineId } from './json.js';
import { fromOutlineMarkdown } from './markdown.js';

const isPage = (path: string): boolean => /^(?:md|markdown|html?)$/.test(extensionOf(path));
const isHtml = (path: string): boolean => /^html?$/.test(extensionOf(path));

/** Folders of attachments, each in a subfolder of its own, below the folder of the page that shows them. */
const STORE = /(?:^|\/)(?:uploads|public|attachments|avatars)\/.*$/;

/** Decodes a file name, in which Outline percent-encodes characters that file names may not contain. */
function decodedName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns a title in the form that URLs use. */
const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

function plan(bundle: Bundle): { items: SourceItem[]; skipped: SkippedEntry[] } {
  const skipped: SkippedEntry[] = [];
  const leaves: SourceItem[] = [];
  const owners = new Map<string, string>();
  const folders = new Set(bundle.entries.flatMap(({ path }) => foldersAbove(path)));
  for (const { path } of bundle.entries) {
    if (isLitter(path))
      skipped.push({ path, code: 'system_file', message: 'A file that the operating system created.' });
    else if (isPage(path) && !STORE.test(path)) {
      leaves.push({ path, kind: 'document', name: cleanName(decodedName(stemOf(path))) });
      const folder = path.replace(/\.[^./]+$/, '');
      if (folders.has(folder)) owners.set(folder, path);
    } else leaves.push({ path, kind: 'file', name: cleanName(decodedName(nameOf(path))), entry: path });
  }
  const placeOf = (path: string) => (STORE.test(path) ? path.replace(STORE, '') : folderOf(path));
  return { items: arrange(leaves, owners, (folder) => decodedName(nameOf(folder)), placeOf), skipped };
}

async function readOutlinePage(bundle: Bundle, path: string): Promise<ItemContent> {
  if (isHtml(path)) return readPage(await bundle.read(path, MAX_PAGE_BYTES));
  const text = wellFormed(await readText(bundle, path, MAX_PAGE_BYTES)).replace(/\r\n?/g, '\n');
  const match = /^\s*# (.+)(?:\n|$)/.exec(text);
  const title = oneLine((match?.[1] ?? '').replace(/\\([\\`*_{}[\]()#+.!~|<>-])/g, '$1'));
  const icon = /^(\p{Extended_Pictographic}\ufe0f?)\s+(\S.*)$/u.exec(title);
  return {
    title: icon?.[2] ?? (title || undefined),
    icon: icon?.[1],
    markdown: fromOutlineMarkdown(match === null ? text : text.slice(match[0].length)),
  };
}

async function openOutlineMarkdown(bundle: Bundle): Promise<Source> {
  const { items, skipped } = plan(bundle);
  if (!items.some(({ kind }) => kind === 'document'))
    throw new ImportFault('no_pages', 'The source contains no Outline page.');
  const index = createPathIndex();
  const bySlug = new Map<string, string | undefined>();
  for (const { path, kind, name } of items) {
    if (kind === 'folder') continue;
    index.set(path, path);
    if (kind === 'document') bySlug.set(slugOf(name), bySlug.has(slugOf(name)) ? undefined : path);
  }
  return {
    items,
    skipped,
    async read({ path, kind }) {
      if (kind !== 'document') return {};
      const content = await readOutlinePage(bundle, path);
      return { ...content, updatedAt: content.updatedAt ?? bundle.entry(path)?.modifiedAt };
    },
    resolve(from, href) {
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      // A URL names a page by its title and an id that a Markdown export does not contain.
      const id = outlineId(href);
      const named =
        id === undefined ? undefined : bySlug.get(slugOf(decodedName(id).replace(/-[A-Za-z0-9]{10,15}$/, '')));
      if (named !== undefined) return { item: named };
      if (isOutside(href)) return { outside: true };
      const found = resolveRelative(from.path, href, index, ['.md']);
      return 'item' in found ? found : resolveRelative('', href, index, ['.md']);
    },
    notes: [
      'An export of Outline as Markdown has no authors, comments, earlier versions or permissions; one as JSON has authors and dates.',
    ],
  };
}

/** Opens an export of Outline as Markdown, HTML or JSON. */
export const openOutlineSource: OpenSource = async (bundle) => {
  await loadHtml();
  const hasPages = bundle.entries.some(({ path }) => isPage(path) && !isLitter(path) && !STORE.test(path));
  return hasPages ? openOutlineMarkdown(bundle) : openOutlineJson(bundle);
};
