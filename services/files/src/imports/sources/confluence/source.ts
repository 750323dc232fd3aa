import { createPathIndex, isOutside, resolveRelative } from '../common/links.js';
import { extensionOf, folderOf, isLitter, join, nameOf, stemOf } from '../common/paths.js';
import { cleanName } from '../common/text.js';
import type { SkippedEntry } from '../common/tree.js';
import { type Element, isElement, loadHtml, textOf } from '../html/dom.js';
import { MAX_PAGE_BYTES, treeOf } from '../html/page.js';
import { type Bundle, ImportFault, type OpenSource, type SourceItem } from '../port.js';
import { readConfluencePage } from './page.js';

const isPage = (path: string): boolean => /^html?$/.test(extensionOf(path));

/** Returns the id of a page from its file name: `123.html`, `Title_123.html`. */
const idOf = (path: string): string | undefined => /(?:^|_)(\d{3,})$/.exec(stemOf(path))?.[1];

/** Describes a page in the tree of an export's index. */
interface ListedPage {
  readonly href: string;
  readonly title: string;
  readonly parent?: string;
}

/** Returns the pages that an index lists, each below the page whose list contains it. */
function listedIn(index: Element): ListedPage[] {
  const found: ListedPage[] = [];
  const walk = (element: Element, parent: string | undefined): void => {
    for (const child of element.children) {
      if (!isElement(child)) continue;
      if (child.name !== 'li') walk(child, parent);
      else {
        const link = child.children
          .filter(isElement)
          .find(({ name, attributes }) => name === 'a' && /\.html?$/i.test(attributes.href ?? ''));
        const href = link?.attributes.href;
        if (href !== undefined) found.push({ href, title: textOf(link), parent });
        walk(child, href ?? parent);
      }
    }
  };
  walk(index, undefined);
  return found;
}

/** Returns the folder of an export's pages, which is that of its index. */
function baseOf(bundle: Bundle): string | undefined {
  const indexes = bundle.entries
    .map(({ path }) => path)
    .filter((path) => nameOf(path) === 'index.html' && !isLitter(path));
  const [first] = indexes.sort((a, b) => a.split('/').length - b.split('/').length);
  return first === undefined ? undefined : folderOf(first);
}

function refuseXml(bundle: Bundle): void {
  const isXml = bundle.entries.some(
    ({ path }) => nameOf(path) === 'entities.xml' || nameOf(path) === 'exportDescriptor.properties',
  );
  if (isXml)
    throw new ImportFault(
      'confluence_xml_export',
      'This is an XML export, which is a backup. Export the space as HTML: Space settings, Export space, HTML.',
    );
}

/** Lists the items of an export; their paths are relative to the folder that contains everything. */
async function plan(bundle: Bundle, base: string): Promise<{ items: SourceItem[]; skipped: SkippedEntry[] }> {
  const skipped: SkippedEntry[] = [];
  const skip = (path: string, code: string, message: string) => skipped.push({ path, code, message });
  const within = (path: string) =>
    base === '' ? path : path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined;
  const entries = new Map(
    bundle.entries.flatMap(({ path }) => (within(path) === undefined ? [] : [[within(path) ?? '', path] as const])),
  );
  for (const { path } of bundle.entries)
    if (within(path) === undefined) skip(path, 'not_imported', 'The file is outside of the export.');
  const index = treeOf(await bundle.read(join(base, 'index.html'), MAX_PAGE_BYTES));
  const pages = [...entries.keys()].filter(
    (path) => isPage(path) && path !== 'index.html' && !path.startsWith('attachments/') && !isLitter(path),
  );
  const isThere = new Set(pages);
  const withFiles = new Set([...entries.keys()].flatMap((path) => /^attachments\/(\d+)\//.exec(path)?.[1] ?? []));
  const listed = new Map<string, ListedPage>();
  for (const page of listedIn(index)) if (isThere.has(page.href) && !listed.has(page.href)) listed.set(page.href, page);
  const names = new Map<string, string>();
  const above = new Map<string, string>();
  for (const path of pages) {
    // Reads a page only for what the index does not contain: its parent, and the names of its attachments.
    if (listed.has(path) && !withFiles.has(idOf(path) ?? '')) continue;
    const page = await bundle.read(join(base, path), MAX_PAGE_BYTES).then(readConfluencePage, () => undefined);
    for (const [file, name] of page?.attachments ?? []) if (!names.has(file)) names.set(file, name);
    if (page?.above !== undefined && isThere.has(page.above)) above.set(path, page.above);
  }
  const items = pageItems([...listed.keys(), ...pages.filter((path) => !listed.has(path))], listed, above, base);
  const byId = new Map(items.map(({ externalId, path }) => [externalId, path]));
  for (const [path, entry] of entries) {
    const owner = /^attachments\/(?:thumbnails\/)?(\d+)\//.exec(path)?.[1];
    if (isThere.has(path)) continue;
    if (path === 'index.html') skip(entry, 'site_map', 'The list of pages of the export.');
    else if (isLitter(path)) skip(entry, 'system_file', 'A file that the operating system created.');
    else if (/^(?:images\/icons|styles)\//.test(path)) skip(entry, 'presentation', 'A style or icon of the export.');
    else if (path.startsWith('attachments/thumbnails/'))
      skip(entry, 'thumbnail', 'A thumbnail of an image that is imported in full size.');
    else
      items.push({
        path: entry,
        parent: byId.get(owner),
        kind: 'file',
        name: cleanName(names.get(path) ?? nameOf(path)),
        entry,
      });
  }
  return { items, skipped };
}

/** Returns the items of pages, parents first; cycles of parents are cut. */
function pageItems(
  paths: readonly string[],
  listed: ReadonlyMap<string, ListedPage>,
  above: ReadonlyMap<string, string>,
  base: string,
): SourceItem[] {
  const items: SourceItem[] = [];
  const done = new Set<string>();
  for (const start of paths) {
    const chain: string[] = [];
    for (
      let at: string | undefined = start;
      at !== undefined && !done.has(at) && !chain.includes(at);
      at = listed.get(at)?.parent ?? above.get(at)
    )
      chain.push(at);
    for (const path of chain.reverse()) {
      const parent = listed.get(path)?.parent ?? above.get(path);
      const name = listed.get(path)?.title || stemOf(path).replace(/_\d+$/, '').replaceAll('-', ' ');
      done.add(path);
      items.push({
        path: join(base, path),
        parent: parent !== undefined && done.has(parent) && parent !== path ? join(base, parent) : undefined,
        kind: 'document',
        name: cleanName(name),
        externalId: idOf(path),
      });
    }
  }
  return items;
}

/** Returns the page id in a Confluence URL: `…/pages/123/Title`, `…?pageId=123`. */
const pageIdIn = (href: string): string | undefined =>
  (/\/pages\/(\d+)(?:[/?#]|$)/.exec(href) ?? /[?&]pageId=(\d+)/.exec(href))?.[1];

/** Opens a Confluence space that was exported as HTML. */
export const openConfluenceSource: OpenSource = async (bundle) => {
  refuseXml(bundle);
  await loadHtml();
  const base = baseOf(bundle);
  if (base === undefined)
    throw new ImportFault('no_pages', 'The source contains no index.html of a space: export the space as HTML.');
  const { items, skipped } = await plan(bundle, base);
  if (!items.some(({ kind }) => kind === 'document')) throw new ImportFault('no_pages', 'The export has no pages.');
  const index = createPathIndex();
  for (const { path } of items) index.set(path, path);
  const byId = new Map(
    items.flatMap(({ externalId, path }) => (externalId === undefined ? [] : [[externalId, path] as const])),
  );
  return {
    items,
    skipped,
    async read({ path, kind }) {
      if (kind !== 'document') return {};
      return readConfluencePage(await bundle.read(path, MAX_PAGE_BYTES)).content;
    },
    resolve(from, href) {
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      const own = byId.get(pageIdIn(href) ?? '');
      if (own !== undefined) return { item: own };
      if (isOutside(href)) return { outside: true };
      // Links of pages are relative to the export's root folder, wherever the page is.
      return resolveRelative(join(base, 'index.html'), href, index);
    },
    notes: [
      'An export of Confluence as HTML has no earlier versions, permissions or drafts; macros are imported as the content that they showed.',
    ],
  };
};
