import type { Entry, Source, SourceItem } from '../port.js';
import { baseName, folderOf, isImage, isIndex, isJunk, isPage, nameOfPage } from './names.js';

export interface Tree {
  readonly items: readonly SourceItem[];
  /** The page that stands for a folder, by the folder's path. */
  readonly indexes: ReadonlyMap<string, string>;
  readonly skipped: Source['skipped'];
}

/** Folders, pages and files as they lie in an archive, parents before their children. */
export function itemsOf(entries: readonly Entry[]): Tree {
  const items: SourceItem[] = [];
  const indexes = new Map<string, string>();
  const folders = new Set<string>();
  const skipped: { path: string; code: string; message: string }[] = [];

  const addFolder = (path: string): void => {
    if (path === '' || folders.has(path)) return;
    addFolder(folderOf(path));
    folders.add(path);
    items.push({ ...placed(path), kind: 'folder', name: baseName(path) });
  };

  for (const { path } of entries) {
    if (isJunk(path)) {
      skipped.push({ path, code: 'system_file', message: 'A system keeps it for itself.' });
      continue;
    }
    addFolder(folderOf(path));
    if (isIndex(path)) noteIndex(indexes, path);
    items.push(isPage(path) ? pageItem(path) : fileItem(path));
  }
  return { items, indexes, skipped };
}

function placed(path: string): Pick<SourceItem, 'path' | 'parent'> {
  const parent = folderOf(path);
  return parent === '' ? { path } : { path, parent };
}

function pageItem(path: string): SourceItem {
  return { ...placed(path), kind: 'document', name: nameOfPage(path) };
}

function fileItem(path: string): SourceItem {
  const base = { ...placed(path), kind: 'file', name: baseName(path), entry: path } as const;
  return isImage(path) ? base : { ...base, onlyIfLinked: true };
}

/** `index.md` goes before `README.md`. */
function noteIndex(indexes: Map<string, string>, path: string): void {
  const folder = folderOf(path);
  const known = indexes.get(folder);
  if (known === undefined || /\/?_?index\./i.test(baseName(path))) indexes.set(folder, path);
}
