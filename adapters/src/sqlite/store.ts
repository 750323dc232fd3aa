import type { CollectionSpec, Store, StoredRecord } from '@commonplace/kit/store';
import { createStoreObservers } from '../store/listeners.js';
import { observeCollection, observeCommits } from '../store/telemetry.js';
import { createCollection } from './collection.js';
import type { EventHub } from './events/index.js';
import type { Connection } from './file/binding.js';
import type { Scanner } from './file/scanner.js';
import { plainStep } from './file/writer-protocol.js';
import { type Pace, pacedReads } from './paced-reads.js';
import type { RecordCache } from './record-cache.js';
import { type KnownSchema, missingSchema, type TableShape, tableShape } from './schema.js';
import { createUnitOfWork } from './unit-of-work.js';

/** Maximum attempts at creating a table: another process may create parts of it at the same time. */
const MAX_ATTEMPTS = 3;

/** The collections that a service has opened, by name. */
export interface OpenCollections {
  readonly tables: Map<string, string>;
  /** Creation of missing tables and indexes, which runs sequentially for each collection. */
  readonly making: Map<string, Promise<void>>;
  /** The specs by which collections were completed last, so that the schema need not be read again for them. */
  readonly complete: Map<string, unknown>;
}

export interface StoreContext {
  readonly reader: Connection;
  readonly scanner: Scanner;
  readonly hub: EventHub;
  readonly cache: RecordCache;
  readonly schema: KnownSchema;
  readonly pace: Pace;
}

/** Creates the store of one service. Its tables begin with the service's name. */
export function createSqliteStore(
  service: string,
  { tables, making, complete }: OpenCollections,
  context: StoreContext,
): Store {
  const { reader, scanner, hub, cache, schema, pace } = context;
  const place = { system: 'sqlite', service, synchronous: true };
  const observed = observeCommits(place);
  const { opened, committed, onCommit, expiring } = createStoreObservers();

  function tableOf({ name }: { readonly name: string }): string {
    const table = tables.get(name);
    if (table === undefined) throw new Error(`${service} has opened no collection ${name}`);
    return table;
  }

  async function make<T extends StoredRecord>(shape: TableShape, spec: CollectionSpec<T>): Promise<void> {
    await making.get(spec.name)?.catch(() => {});
    if (complete.get(spec.name) === spec) return;
    for (let attempt = 1; ; attempt++) {
      const missing = missingSchema(schema, shape, spec);
      if (missing.length === 0) return;
      // A command next to the running system may have created parts since the schema was read, or be creating them now.
      // Then a statement fails, and the next attempt knows what there is.
      schema.forget(shape.table);
      try {
        await hub.queue.commit(missing.map(plainStep));
        complete.set(spec.name, spec);
        return;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  return {
    async collection<T extends StoredRecord>(spec: CollectionSpec<T>) {
      const shape = tableShape(service, spec);
      const made = make(shape, spec);
      making.set(spec.name, made);
      await made;
      tables.set(spec.name, shape.table);
      const collection = pacedReads(createCollection({ reader, scanner, cache }, shape, spec), pace);
      return opened(observeCollection(place, collection));
    },
    begin: () =>
      createUnitOfWork({
        tableOf,
        committed,
        exclude: (writes) =>
          cache.exclude(writes.map(({ collection, id }) => ({ table: tableOf({ name: collection }), id }))),
        commit: (steps, events) => observed(() => hub.commit(steps, events)),
      }),
    // The file's folder is locked by this process.
    isExclusive: true,
    now: Date.now,
    onCommit,
    expiring,
    // The file belongs to the database, which other stores use too.
    close: async () => {},
  };
}
