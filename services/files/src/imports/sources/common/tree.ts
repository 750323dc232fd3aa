import type { Source, SourceItem } from '../port.js';
import { sourceItem } from './item.js';
import { folderOf, nameOf } from './paths.js';
import { cleanName } from './text.js';

export type Skipped = Source['skipped'][number];

/**
 * Puts what lies in folders into a tree, parents first and else in the order given. `owners` says which item a folder
 * belongs to: its content lies below that item. Every other folder becomes an item of its own, whose path ends with `/`.
 * `placeOf` gives the folder that an entry counts as lying in, where that is not the one it lies in.
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

  /** The item that what lies in a folder is below. An item that a folder belongs to may lie in that folder itself. */
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
