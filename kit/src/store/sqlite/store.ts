import type { EventHub } from '../../events/sqlite/index.js';
import { observeCollection, observeCommits } from '../../telemetry/store.js';
import type { CollectionSpec, Store, StoredRecord } from '../port.js';
import type { Connection } from './binding.js';
import { createCollection } from './collection.js';
import { missingSchema, type TableShape, tableShape } from './schema.js';
import { createUnitOfWork } from './unit-of-work.js';
import { plainStep } from './writer-protocol.js';

/** What a service has opened, by the names of its collections. */
export interface OpenCollections {
  readonly tables: Map<string, string>;
  /** The making of what was missing, one after the other for each collection. */
  readonly making: Map<string, Promise<void>>;
}

export interface StoreContext {
  readonly reader: Connection;
  readonly hub: EventHub;
}

/** The collections of one service, in tables that begin with its name. */
export function createSqliteStore(service: string, { tables, making }: OpenCollections, context: StoreContext): Store {
  const { reader, hub } = context;
  const place = { system: 'sqlite', service, synchronous: true };
  const observed = observeCommits(place);

  function tableOf({ name }: { readonly name: string }): string {
    const table = tables.get(name);
    if (table === undefined) throw new Error(`${service} has opened no collection ${name}`);
    return table;
  }

  async function make<T extends StoredRecord>(shape: TableShape, spec: CollectionSpec<T>): Promise<void> {
    await making.get(spec.name)?.catch(() => {});
    const missing = missingSchema(reader, shape, spec);
    if (missing.length > 0) await hub.queue.commit(missing.map(plainStep));
  }

  return {
    async collection<T extends StoredRecord>(spec: CollectionSpec<T>) {
      const shape = tableShape(service, spec);
      const made = make(shape, spec);
      making.set(spec.name, made);
      await made;
      tables.set(spec.name, shape.table);
      return observeCollection(place, createCollection(reader, shape, spec));
    },
    begin: () => createUnitOfWork({ tableOf, commit: (steps, events) => observed(() => hub.commit(steps, events)) }),
    // The file belongs to the database, which other stores use too.
    close: async () => {},
  };
}
