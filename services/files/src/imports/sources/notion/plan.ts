import { createPathIndex, type PathIndex } from '../common/links.js';
import { extensionOf, folderOf, foldersAbove, isLitter, join, nameOf, stemOf } from '../common/paths.js';
import { cleanName } from '../common/text.js';
import { arrange, type SkippedEntry } from '../common/tree.js';
import type { Bundle, SourceItem } from '../port.js';
import { logicalPath, readName } from './names.js';

/** Describes a page or a database of an export and the entries that contain it. */
export interface NotionPage {
  /** Path in the workspace, which is also the path of its item. */
  readonly path: string;
  readonly kind: 'document' | 'table';
  readonly title: string;
  readonly id?: string;
  /** Entry that it is read from. */
  readonly entry: string;
  /** For a database: the entry of its page, which has its full name and description. */
  readonly page?: string;
}

export interface NotionPlan {
  readonly items: SourceItem[];
  readonly skipped: SkippedEntry[];
  readonly pages: ReadonlyMap<string, NotionPage>;
  readonly byId: ReadonlyMap<string, string>;
  readonly index: PathIndex;
}

/** Groups entries with the same name; a database has several. */
interface Group {
  readonly key: string;
  page?: string;
  view?: string;
  all?: string;
}

const isPage = (path: string): boolean => /^(?:md|markdown|html?)$/.test(extensionOf(path));
const isValues = (path: string): boolean => extensionOf(path) === 'csv';

/** Returns whether a path is the index of an HTML export, which links to its pages. */
const isMap = (path: string): boolean => /(?:^|\/)index\.html?$/i.test(path) && readName(stemOf(path)).id === undefined;

interface SortedEntries {
  readonly groups: Map<string, Group>;
  readonly files: string[];
  readonly skipped: SkippedEntry[];
  /** Entries by their path in the workspace. */
  readonly entries: Map<string, string>;
}

function sortEntries(bundle: Bundle): SortedEntries {
  const sorted: SortedEntries = { groups: new Map(), files: [], skipped: [], entries: new Map() };
  const skip = (path: string, code: string, message: string) => sorted.skipped.push({ path, code, message });
  for (const { path: entry } of bundle.entries) {
    const path = logicalPath(entry);
    if (isLitter(path)) skip(entry, 'system_file', 'A file that the operating system created.');
    else if (isMap(path)) skip(entry, 'site_map', 'The list of pages that Notion adds to an export.');
    else if (sorted.entries.has(path)) skip(entry, 'duplicate', `The export has ${path} more than once.`);
    else {
      sorted.entries.set(path, entry);
      if (!isPage(path) && !isValues(path)) sorted.files.push(path);
      else if (!addToGroup(path, sorted.groups))
        skip(entry, 'duplicate', `The export also contains this page in another format.`);
    }
  }
  return sorted;
}

/**
 * Adds an entry to its group. Returns false when the group has one of this kind already: a page may be exported as
 * Markdown and as HTML.
 */
function addToGroup(path: string, groups: Map<string, Group>): boolean {
  const stem = stemOf(path);
  const isAll = isValues(path) && stem.endsWith('_all') && readName(stem.slice(0, -4)).id !== undefined;
  const key = join(folderOf(path), isAll ? stem.slice(0, -4) : stem);
  const group = groups.get(key) ?? { key };
  groups.set(key, group);
  const place = isAll ? 'all' : isValues(path) ? 'view' : 'page';
  if (group[place] !== undefined) return false;
  group[place] = path;
  return true;
}

/** Returns the page or database that a group of entries forms; redundant entries are skipped. */
function pageOf({ page, view, all, key }: Group, { entries, skipped }: SortedEntries): NotionPage | undefined {
  const entry = (path: string): string => entries.get(path) ?? path;
  const { title, id } = readName(nameOf(key));
  const values = all ?? view;
  if (values === undefined)
    return page === undefined ? undefined : { path: page, kind: 'document', title, id, entry: entry(page) };
  if (all !== undefined && view !== undefined)
    skipped.push({
      path: entry(view),
      code: 'duplicate_view',
      message: 'A view of a database that is imported as a whole.',
    });
  if (page !== undefined)
    skipped.push({
      path: entry(page),
      code: 'database_page',
      message: 'The page of a database that is imported as a table.',
    });
  return {
    path: values,
    kind: 'table',
    title,
    id,
    entry: entry(values),
    page: page === undefined ? undefined : entry(page),
  };
}

const same = (text: string): string =>
  text
    .normalize('NFC')
    .replace(/[\s.]+/g, ' ')
    .trim()
    .toLowerCase();

/** Maps each folder to its page: by id, by full name, by title and a part of the id, or by title. */
function ownersOf(pages: readonly NotionPage[], folders: ReadonlySet<string>): Map<string, string> {
  const known = new Map<string, NotionPage[]>();
  const note = (folder: string, name: string, page: NotionPage): void => {
    const pagesOfName = known.get(join(folder, name));
    if (pagesOfName === undefined) known.set(join(folder, name), [page]);
    else pagesOfName.push(page);
  };
  for (const page of pages) {
    const folder = folderOf(page.path);
    const names = new Set([same(stemOf(page.path)), same(page.title), ...(page.id === undefined ? [] : [page.id])]);
    for (const name of names) note(folder, name, page);
  }
  const owners = new Map<string, string>();
  const owned = new Set<string>();
  const claim = (folder: string, name: string | undefined, fits: (page: NotionPage) => boolean = () => true): void => {
    if (owners.has(folder) || name === undefined) return;
    const found = known.get(join(folderOf(folder), name))?.find((page) => !owned.has(page.path) && fits(page));
    if (found === undefined) return;
    owners.set(folder, found.path);
    owned.add(found.path);
  };
  for (const folder of folders) claim(folder, readName(nameOf(folder)).id);
  for (const folder of folders)
    claim(folder, same(nameOf(folder)), (page) => same(stemOf(page.path)) === same(nameOf(folder)));
  for (const folder of folders) {
    const [, title, piece = ''] = /^(.*) ([0-9a-f]{3,31})$/.exec(same(nameOf(folder))) ?? [];
    claim(folder, title, ({ id = '' }) => id.startsWith(piece) || id.endsWith(piece));
  }
  for (const folder of folders) claim(folder, same(nameOf(folder)));
  return owners;
}

/** Lists the items of an export, judged by the names of its entries. */
export function planNotion(bundle: Bundle): NotionPlan {
  const sorted = sortEntries(bundle);
  const found = [...sorted.groups.values()].flatMap((group) => pageOf(group, sorted) ?? []);
  const folders = new Set([...sorted.entries.keys()].flatMap(foldersAbove));
  const leaves = found.map(
    ({ path, kind, title, id }): SourceItem => ({ path, kind, name: cleanName(title), externalId: id }),
  );
  for (const path of sorted.files)
    leaves.push({ path, kind: 'file', name: cleanName(nameOf(path)), entry: sorted.entries.get(path) ?? path });
  const items = arrange(leaves, ownersOf(found, folders), (folder) => readName(nameOf(folder)).title || nameOf(folder));
  const index = createPathIndex();
  for (const group of sorted.groups.values()) {
    const item = group.all ?? group.view ?? group.page;
    for (const path of [group.page, group.view, group.all])
      if (path !== undefined && item !== undefined) index.set(path, item);
  }
  for (const path of sorted.files) index.set(path, path);
  const byId = new Map(found.flatMap(({ id, path }) => (id === undefined ? [] : [[id, path] as const])));
  return { items, skipped: sorted.skipped, pages: new Map(found.map((page) => [page.path, page])), byId, index };
}
