import type { DomainEvent } from '../../events/port.js';
import { tracedEvent } from '../../telemetry/store.js';
import type { Collection, StoredRecord, UnitOfWork } from '../port.js';
import { applyChanges, type Batch, type Change, createBatch, idOf } from './changes.js';
import type { CommitQueue } from './commit-queue.js';

/** Gathers changes and events, and commits them together: in one transaction, if they are several. */
export function createUnit(queue: CommitQueue): UnitOfWork {
  const batches = new Map<string, Batch>();
  const events: DomainEvent[] = [];
  const add = <T extends StoredRecord>(to: Collection<T>, change: Change): void => {
    const { name } = to.spec;
    const batch = batches.get(name) ?? createBatch(to);
    batches.set(name, batch);
    batch.changes.push(change);
  };
  return {
    get: async <T extends StoredRecord>(from: Collection<T>, id: string) => {
      const mine = (batches.get(from.spec.name)?.changes ?? []).filter((change) => idOf(change) === id);
      const stored = mine.some(({ kind }) => kind !== 'increment' && kind !== 'expect')
        ? undefined
        : await from.get(id);
      return applyChanges(stored, mine) as T | undefined;
    },
    insert: <T extends StoredRecord>(into: Collection<T>, draft: Omit<T, 'version'>) => {
      const record = { ...draft, version: 1 } as unknown as T;
      add(into, { kind: 'insert', record });
      return record;
    },
    replace: <T extends StoredRecord>(into: Collection<T>, before: T, after: Omit<T, 'version'>) => {
      const record = { ...after, id: before.id, version: before.version + 1 } as unknown as T;
      if (movesUnique(into, before, record)) {
        // To MongoDB the same as replacing it; SecantusDB never gives back a unique value that an update takes away.
        add(into, { kind: 'remove', before });
        add(into, { kind: 'insert', record });
      } else add(into, { kind: 'replace', before, record });
      return record;
    },
    remove: (from, before) => add(from, { kind: 'remove', before }),
    expect: (of, before) => add(of, { kind: 'expect', before }),
    increment: (into, id, field, by, fixed) => add(into, { kind: 'increment', id, field, by, fixed }),
    publish: (event) => {
      events.push(tracedEvent(event));
    },
    get dirty() {
      const writes = [...batches.values()].some(({ changes }) => changes.some(({ kind }) => kind !== 'expect'));
      return writes || events.length > 0;
    },
    commit: async () => {
      if (batches.size > 0 || events.length > 0) await queue.commit({ batches: [...batches.values()], events });
    },
  };
}

/** Whether a record gives up a unique value. */
function movesUnique<T extends StoredRecord>({ spec }: Collection<T>, before: T, after: T): boolean {
  const fields = spec.indexes.flatMap((index) => (index.unique ? index.fields : []));
  return fields.some(
    (field) => before[field] !== undefined && before[field] !== null && before[field] !== after[field],
  );
}
