import { resourceIdOf } from '../domain/ids.js';
import type { Source, SourceItem } from '../sources/port.js';
import type { ImportRecord, ItemRecord, ItemState } from '../stores/records.js';

/** What is known of the items of an import while it runs, by their place in the source. */
export interface Items {
  readonly source: Source;
  readonly count: number;
  item(seq: number): SourceItem;
  /** Undefined for a path that is no item. */
  seqOf(path: string): number | undefined;
  state(seq: number): ItemState;
  settle(seq: number, state: ItemState): void;
  /** The resource that an item is, or becomes. */
  resourceId(seq: number): string;
  /** A resource that is there and stands for an item. */
  setResource(seq: number, id: string): void;
  /** Something links to an item. */
  link(seq: number): void;
  /** Items that are to be put and of which nothing else decides whether they are, in their order. */
  due(): number[];
  /** Items that have become due since they were asked for: something links to them, or lies in them. */
  newlyDue(): number[];
  /** Whether any item is to be put in any case. */
  readonly hasWanted: boolean;
  /** Items that are still undecided: nothing links to them. */
  undecided(): number[];
}

/** The items of a source as their records have them, which come some at a time. */
export async function createItems(
  { id: importId, attempt, scope }: ImportRecord,
  source: Source,
  records: AsyncIterable<readonly ItemRecord[]>,
): Promise<Items> {
  const { items } = source;
  const seqs = new Map<string, number>();
  for (const [seq, { path }] of items.entries()) if (!seqs.has(path)) seqs.set(path, seq);
  const states: ItemState[] = new Array(items.length).fill('pending');
  const open = new Uint8Array(items.length);
  const asked = new Uint8Array(items.length);
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
    states[seq] = status;
    const again = status === 'failed' || scope === 'all';
    open[seq] = status === 'pending' || (again && record.attempt < attempt) ? 1 : 0;
    if (resourceId !== undefined) known.set(seq, resourceId);
    for (const target of targets ?? []) want(target);
  };
  for await (const chunk of records) chunk.forEach(resume);

  const take = (): number[] => {
    const seqs: number[] = [];
    for (let seq = 0; seq < items.length; seq++) {
      if (open[seq] === 0 || asked[seq] === 1 || wanted[seq] === 0) continue;
      asked[seq] = 1;
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

/** Marks what is to be in any case: all but what only a link makes, and folders that hold nothing else. */
function wantedItems(items: readonly SourceItem[], seqs: ReadonlyMap<string, number>): Uint8Array {
  const wanted = new Uint8Array(items.length);
  const hasChildren = new Uint8Array(items.length);
  // Children come behind their parents.
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
