import type { DomainEvent } from '../../events/port.js';
import type { Collection, CollectionSpec, Store, StoredRecord } from '../../store/port.js';

/** An adapter with data of its own, for the duration of one suite. */
export interface StoreHarness {
  /** Returns the store of a service; the same name returns the same data. */
  store(service: string): Store;
  /** Returns all events that a service's units have committed, in the order of its outbox. */
  events(service: string): Promise<readonly DomainEvent[]>;
  close(): Promise<void>;
  /** Closes the adapter, and opens the same data again. Absent if the data do not outlive the process. */
  reopen?(): Promise<StoreHarness>;
}

/** The record type of the suite, with a field for each kind of value and index. */
export interface Thing extends StoredRecord {
  readonly name: string;
  readonly kind?: string;
  readonly rank?: number;
  readonly amount?: number;
  readonly active?: boolean;
  readonly email?: string | null;
  readonly note?: string | null;
  readonly tags?: readonly string[];
  readonly numbers?: readonly number[];
  readonly body?: unknown;
}

export type Draft = Omit<Thing, 'version' | 'name'> & { name?: string };

/** What the tests share: a harness that may be reopened, and collections that no other test uses. */
export interface Bench {
  readonly store: Store;
  readonly harness: StoreHarness;
  /** Creates an empty collection with an index of each kind. */
  things(): Promise<Collection<Thing>>;
  /** Opens the same collection again in the present store. */
  again(things: Collection<Thing>): Promise<Collection<Thing>>;
  /** Inserts records into a collection in one unit, and returns them as stored. */
  fill(things: Collection<Thing>, drafts: readonly Draft[]): Promise<Thing[]>;
  /** Returns a record that must exist. */
  must(things: Collection<Thing>, id: string): Promise<Thing>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

const SERVICE = 'contract';

function thingSpec(name: string): CollectionSpec<Thing> {
  return {
    name,
    indexes: [
      { fields: ['name'] },
      { fields: ['tenant', 'kind', 'rank'] },
      { fields: ['kind', 'name'] },
      { fields: ['tenant', 'amount'], sparse: true },
      { fields: ['email'], unique: true },
      { fields: ['tags'], many: true },
      { fields: ['name'], substrings: true },
    ],
  };
}

export function createBench(first: StoreHarness): Bench {
  let harness = first;
  let store = first.store(SERVICE);
  let opened = 0;
  const run = Math.trunc(performance.timeOrigin).toString(36);
  return {
    get store() {
      return store;
    },
    get harness() {
      return harness;
    },
    things: () => store.collection(thingSpec(`things_${run}_${++opened}`)),
    again: (things) => store.collection(things.spec),
    fill: async (things, drafts) => {
      const unit = store.begin();
      const stored = drafts.map((draft) => unit.insert(things, { name: draft.id, ...draft }));
      await unit.commit();
      return stored;
    },
    must: async (things, id) => {
      const found = await things.get(id);
      if (found === undefined) throw new Error(`${things.spec.name}/${id} is not there`);
      return found;
    },
    reopen: async () => {
      if (harness.reopen === undefined) throw new Error('this harness can not be reopened');
      harness = await harness.reopen();
      store = harness.store(SERVICE);
    },
    close: () => harness.close(),
  };
}

export const ids = (records: readonly StoredRecord[]): string[] => records.map((record) => record.id);

/** Compares by code point, as UTF-8 bytes do and UTF-16 code units do not. */
export function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}
