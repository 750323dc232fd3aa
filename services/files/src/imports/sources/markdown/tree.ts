import { sourceItem } from '../common/item.js';
import type { Entry, Source, SourceItem } from '../port.js';
import { baseName, folderOf, isImage, isIndex, isJunk, isPage, nameOfPage } from './names.js';

interface Tree {
  readonly items: readonly SourceItem[];
  /** The page that represents a folder, by the folder's path. */
  readonly indexes: ReadonlyMap<string, string>;
  readonly skipped: Source['skipped'];
}

/** Lists the folders, pages and files of an archive, parents before their children. */
export function itemsOf(entries: readonly Entry[]): Tree {
  const items: SourceItem[] = [];
  const indexes = new Map<string, string>();
  // Maps each path to itself, so that all items in a folder share one string.
  const folders = new Map<string, string>();
  const skipped: { path: string; code: string; message: string }[] = [];

  const folderAbove = (path: string): string | undefined => {
    const folder = folderOf(path);
    return folder === '' ? undefined : (folders.get(folder) ?? addFolder(folder));
  };
  const addFolder = (path: string): string => {
    const parent = folderAbove(path);
    folders.set(path, path);
    items.push(sourceItem({ path, parent, kind: 'folder', name: baseName(path) }));
    return path;
  };

  for (const { path } of entries) {
    if (isJunk(path)) {
      skipped.push({
        path,
        code: 'system_file',
        message: 'A file that the operating system or another tool keeps for itself.',
      });
      continue;
    }
    const parent = folderAbove(path);
    if (isIndex(path)) noteIndex(indexes, path);
    items.push(isPage(path) ? pageItem(path, parent) : fileItem(path, parent));
  }
  return { items, indexes, skipped };
}

function pageItem(path: string, parent: string | undefined): SourceItem {
  return sourceItem({ path, parent, kind: 'document', name: nameOfPage(path) });
}

function fileItem(path: string, parent: string | undefined): SourceItem {
  const onlyIfLinked = isImage(path) ? undefined : true;
  return sourceItem({ path, parent, kind: 'file', name: baseName(path), entry: path, onlyIfLinked });
}

/** Records a folder's index page; `index.md` takes precedence over `README.md`. */
function noteIndex(indexes: Map<string, string>, path: string): void {
  const folder = folderOf(path);
  const known = indexes.get(folder);
  if (known === undefined || /\/?_?index\./i.test(baseName(path))) indexes.set(folder, path);
}
