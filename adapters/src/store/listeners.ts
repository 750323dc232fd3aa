import type { Collection, CommitListener, StoredRecord, UnitOfWork } from '@commonplace/kit/store';

/** Identifies a record that a unit wrote to. */
export interface Written {
  readonly collection: string;
  readonly id: string;
}

/** Holds a store's commit listeners by collection, and its collections whose records expire. */
interface StoreObservers {
  onCommit(collection: string, listener: CommitListener): () => void;
  /** Calls the listeners of the collections that a committed unit wrote to. */
  committed(work: UnitOfWork, writes: readonly Written[]): void;
  opened<T extends StoredRecord>(collection: Collection<T>): Collection<T>;
  expiring(): readonly Collection<StoredRecord>[];
}

export function createStoreObservers(): StoreObservers {
  const listeners = new Map<string, Set<CommitListener>>();
  const expiring = new Map<string, Collection<StoredRecord>>();
  return {
    onCommit(collection, listener) {
      const some = listeners.get(collection) ?? new Set();
      listeners.set(collection, some.add(listener));
      return () => some.delete(listener);
    },
    committed(work, writes) {
      if (listeners.size === 0) return;
      const ids = new Map<string, string[]>();
      for (const { collection, id } of writes) {
        if (!listeners.has(collection)) continue;
        const some = ids.get(collection);
        if (some === undefined) ids.set(collection, [id]);
        else some.push(id);
      }
      for (const [name, written] of ids) for (const listener of listeners.get(name) ?? []) listener(work, written);
    },
    opened(collection) {
      const { name, expires } = collection.spec;
      if (expires !== undefined) expiring.set(name, collection as unknown as Collection<StoredRecord>);
      return collection;
    },
    expiring: () => [...expiring.values()],
  };
}
