import { resourceIdOf } from '../domain/ids.js';
import type { SourceItem } from '../sources/port.js';
import type { ImportRecord, ItemRecord, ItemState } from '../stores/records.js';
import type { ThreadSource } from '../thread/source.js';

/** Holds the state of an import's items while it runs, indexed by their position in the source. */
export interface Items {
  readonly source: ThreadSource;
  readonly count: number;
  item(seq: number): SourceItem;
  /** Returns undefined for a path that is not an item. */
  seqOf(path: string): number | undefined;
  /** Returns the state of an item in this attempt: pending until it was written again, even if an earlier one failed. */
  state(seq: number): ItemState;
  /** Returns the state that an item had when this run of the import began. */
  stateBefore(seq: number): ItemState;
  /** Returns whether the item above was not imported, so that this one cannot be either. */
  isBelowFailed(seq: number): boolean;
  settle(seq: number, state: ItemState): void;
  /** Returns the id of the resource that an item is or becomes. */
  resourceId(seq: number): string;
  /** Sets an existing resource that replaces an item. */
  setResource(seq: number, id: string): void;
  /** Records that something links to an item. */
  link(seq: number): void;
  /** Returns the items to write that do not depend on being linked to, in order. */
  due(): number[];
  /** Returns the items that have become due since the last call, because something links to them or lies in them. */
  newlyDue(): number[];
  /** Whether any item is written regardless of links. */
  readonly hasWanted: boolean;
  /** Returns the items that are still undecided because nothing links to them. */
  undecided(): number[];
}

/** Creates the items of a source with the state in their records, which arrive in chunks. */
export async function createItems(
  { id: importId, attempt, scope }: ImportRecord,
  source: ThreadSource,
  records: AsyncIterable<readonly ItemRecord[]>,
): Promise<Items> {
  const { items } = source;
  const seqs = new Map<string, number>();
  for (const [seq, { path }] of items.entries()) if (!seqs.has(path)) seqs.set(path, seq);
  const before: ItemState[] = new Array(items.length).fill('pending');
  const states = [...before];
  const open = new Uint8Array(items.length);
  const taken = new Uint8Array(items.length);
  const known = new Map<number, string>();
  const wanted = wantedItems(items, seqs);

  const parentOf = (seq: number): number | undefined => {
    const { parent } = items[seq] as SourceItem;
    return parent === undefined ? undefined : seqs.get(parent);
  };
  const want = (seq: number): void => {
    for (let at: number | undefined = seq; at !== undefined && wanted[at] === 0; at = parentOf(at)) wanted[at] = 1;
  };

  const resume = (record: ItemRecord): void => {
    const { seq, kind, status, resourceId, targets } = record;
    if (kind === undefined || seq >= items.length) return;
    const again = status === 'failed' || scope === 'all';
    open[seq] = status === 'pending' || (again && record.attempt < attempt) ? 1 : 0;
    before[seq] = status;
    states[seq] = open[seq] === 1 ? 'pending' : status;
    if (resourceId !== undefined) known.set(seq, resourceId);
    for (const target of targets ?? []) want(target);
  };
  for await (const chunk of records) chunk.forEach(resume);

  const take = (): number[] => {
    const seqs: number[] = [];
    for (let seq = 0; seq < items.length; seq++) {
      if (open[seq] === 0 || taken[seq] === 1 || wanted[seq] === 0) continue;
      taken[seq] = 1;
      seqs.push(seq);
    }
    return seqs;
  };

  return {
    source,
    count: items.length,
    item: (seq) => items[seq] as SourceItem,
    seqOf: (path) => seqs.get(path),
    state: (seq) => states[seq] as ItemState,
    stateBefore: (seq) => before[seq] as ItemState,
    isBelowFailed(seq) {
      const above = parentOf(seq);
      return above !== undefined && states[above] === 'failed';
    },
    settle: (seq, state) => {
      states[seq] = state;
    },
    resourceId: (seq) => known.get(seq) ?? resourceIdOf(importId, (items[seq] as SourceItem).path),
    setResource: (seq, id) => void known.set(seq, id),
    link: want,
    due: take,
    newlyDue: take,
    hasWanted: wanted.includes(1),
    undecided: () => [...open.keys()].filter((seq) => open[seq] === 1 && wanted[seq] === 0),
  };
}

/**
 * Marks the items that are created in any case: all except those that only a link requires, and folders that contain
 * only such items.
 */
function wantedItems(items: readonly SourceItem[], seqs: ReadonlyMap<string, number>): Uint8Array {
  const wanted = new Uint8Array(items.length);
  const hasChildren = new Uint8Array(items.length);
  // Children come after their parents, so this visits children first.
  for (let seq = items.length - 1; seq >= 0; seq--) {
    const { kind, parent, onlyIfLinked } = items[seq] as SourceItem;
    if (kind === 'folder' ? hasChildren[seq] === 0 : onlyIfLinked !== true) wanted[seq] = 1;
    const above = parent === undefined ? undefined : seqs.get(parent);
    if (above === undefined) continue;
    hasChildren[above] = 1;
    if (wanted[seq] === 1) wanted[above] = 1;
  }
  return wanted;
}
