import type { ReaderEntry } from '@commonplace/proto/resources/v1/reader_service.js';
import { addressesOf, entryOf, homeEntry } from './face.js';
import type { OpenedPublication } from './opening.js';
import type { Entry, ShownItem } from './outline.js';

/**
 * Maximum number of pages that are shown as a whole. Of more, the tree has the upper level and the pages along the path to
 * the open one.
 */
const MAX_WHOLE = 200;
/** Maximum number of siblings in such a tree: each page takes the reader's browser, and the process that renders it, time. */
const MAX_SIBLINGS = 100;
const DEFAULT_CHILDREN = 100;
const MAX_CHILDREN = 500;

/** What a page shows of the publication around it. */
interface Navigation {
  /** The pages in order, depth first. The first entry is the publication itself. */
  readonly tree: ReaderEntry[];
  /** Number of siblings of these pages that `tree` leaves out. */
  readonly leftOut: number;
  /** Entries from the publication itself to the open page. */
  readonly trail: ReaderEntry[];
}

/** Returns the navigation of a page; undefined stands for the published workspace. */
export function navigationOf(opened: OpenedPublication, shown: ShownItem | undefined): Navigation {
  const addresses = addressesOf(opened);
  const { entries } = opened.outline;
  const home = homeEntry(opened);
  const path = pathTo(opened, shown);
  const trail = [home, ...path.map((one, i) => entryOf({ shown: one, depth: i + 1 }, addresses))];
  const isWhole = entries.length < MAX_WHOLE;
  const around: Around = { entries: [], leftOut: 0 };
  if (!isWhole) addAround(opened, opened.publication.itemId, path, 1, around);
  const listed = isWhole ? entries : around.entries;
  return { tree: [home, ...listed.map((entry) => entryOf(entry, addresses))], leftOut: around.leftOut, trail };
}

/** Returns the pages from the first one below the publication to a page; none for the publication itself. */
function pathTo({ outline, publication }: OpenedPublication, shown: ShownItem | undefined): ShownItem[] {
  const path: ShownItem[] = [];
  for (let at = shown; at !== undefined && at.id !== publication.itemId; at = outline.byId.get(at.parentKey)) {
    path.unshift(at);
  }
  return path;
}

interface Around {
  readonly entries: Entry[];
  leftOut: number;
}

/** Adds the pages below an item, and below them those of the next page of the path. */
function addAround(
  opened: OpenedPublication,
  id: string,
  [open, ...rest]: readonly ShownItem[],
  depth: number,
  to: Around,
): void {
  const siblings = opened.outline.children.get(id) ?? [];
  const at = open === undefined ? 0 : siblings.indexOf(open);
  const from = Math.max(0, Math.min(at - MAX_SIBLINGS / 2, siblings.length - MAX_SIBLINGS));
  const near = siblings.slice(from, from + MAX_SIBLINGS);
  to.leftOut += siblings.length - near.length;
  for (const shown of near) {
    to.entries.push({ shown, depth });
    if (shown === open) addAround(opened, shown.id, rest, depth + 1, to);
  }
}

/** A range of the pages directly below an item. */
interface Children {
  readonly children: ReaderEntry[];
  readonly offset: number;
  readonly limit: number;
  readonly childCount: number;
}

/** Returns a range of the pages directly below an item, undefined for the published workspace. */
export function childrenOf(
  opened: OpenedPublication,
  shown: ShownItem | undefined,
  range: { readonly offset: number; readonly limit: number },
): Children {
  const addresses = addressesOf(opened);
  const all = opened.outline.children.get(shown?.id ?? opened.publication.itemId) ?? [];
  const limit = Math.min(Math.max(range.limit || DEFAULT_CHILDREN, 1), MAX_CHILDREN);
  const offset = Math.max(range.offset, 0);
  const depth = pathTo(opened, shown).length + 1;
  const children = all.slice(offset, offset + limit).map((one) => entryOf({ shown: one, depth }, addresses));
  return { children, offset, limit, childCount: all.length };
}
