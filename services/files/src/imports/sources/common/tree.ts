import type { Source, SourceItem } from '../port.js';
import { sourceItem } from './item.js';
import { folderOf, nameOf } from './paths.js';
import { cleanName } from './text.js';

export type SkippedEntry = Source['skipped'][number];

/**
 * Arranges the contents of folders into a tree, parents first and otherwise in the given order. `owners` maps a folder
 * to the item that its content lies below. Every other folder becomes an item of its own, whose path ends with `/`.
 * `placeOf` returns the folder that an entry is treated as lying in, if that differs from its own.
 */
export function arrange(
  leaves: readonly SourceItem[],
  owners: ReadonlyMap<string, string>,
  folderName: (folder: string) => string = nameOf,
  placeOf: (path: string) => string = folderOf,
): SourceItem[] {
  const items: SourceItem[] = [];
  const byPath = new Map(leaves.map((leaf) => [leaf.path, leaf]));
  const done = new Set<string>();

  /** Returns the item that holds the content of a folder. An item that owns a folder may lie in that folder itself. */
  function holderOf(folder: string, inside: string): string | undefined {
    if (folder === '') return undefined;
    const owner = owners.get(folder);
    const leaf = owner === undefined ? undefined : byPath.get(owner);
    if (leaf?.path === inside) return holderOf(folderOf(folder), inside);
    if (leaf !== undefined) {
      put(leaf);
      return leaf.path;
    }
    return putFolder(folder);
  }

  function putFolder(folder: string): string {
    const path = `${folder}/`;
    if (done.has(path)) return path;
    done.add(path);
    const parent = holderOf(folderOf(folder), path);
    items.push(sourceItem({ path, parent, kind: 'folder', name: cleanName(folderName(folder)) }));
    return path;
  }

  function put(leaf: SourceItem): void {
    if (done.has(leaf.path)) return;
    done.add(leaf.path);
    const parent = leaf.parent ?? holderOf(placeOf(leaf.path), leaf.path);
    items.push(sourceItem({ ...leaf, parent }));
  }

  for (const leaf of leaves) put(leaf);
  return items;
}
