import type { DomainEvent } from '../../events/port.js';
import { tracedEvent } from '../../telemetry/store.js';
import type { Collection, StoredRecord, UnitOfWork } from '../port.js';
import { applyChanges, type Batch, type Change, createBatch, idOf } from './changes.js';
import type { CommitQueue } from './commit-queue.js';

/** Gathers changes and events, and commits them together: in one transaction, if they are several. */
class MongoUnitOfWork implements UnitOfWork {
  private readonly batches = new Map<string, Batch>();
  private readonly events: DomainEvent[] = [];

  constructor(private readonly queue: CommitQueue) {}

  get dirty(): boolean {
    const writes = [...this.batches.values()].some(({ changes }) => changes.some(({ kind }) => kind !== 'expect'));
    return writes || this.events.length > 0;
  }

  async get<T extends StoredRecord>(from: Collection<T>, id: string): Promise<T | undefined> {
    const mine = (this.batches.get(from.spec.name)?.changes ?? []).filter((change) => idOf(change) === id);
    const stored = mine.some(({ kind }) => kind !== 'increment' && kind !== 'expect') ? undefined : await from.get(id);
    return applyChanges(stored, mine) as T | undefined;
  }

  insert<T extends StoredRecord>(into: Collection<T>, draft: Omit<T, 'version'>): T {
    const record = { ...draft, version: 1 } as unknown as T;
    this.add(into, { kind: 'insert', record });
    return record;
  }

  replace<T extends StoredRecord>(into: Collection<T>, before: T, after: Omit<T, 'version'>): T {
    const record = { ...after, id: before.id, version: before.version + 1 } as unknown as T;
    if (movesUnique(into, before, record)) {
      // To MongoDB the same as replacing it; SecantusDB never gives back a unique value that an update takes away.
      this.add(into, { kind: 'remove', before });
      this.add(into, { kind: 'insert', record });
    } else this.add(into, { kind: 'replace', before, record });
    return record;
  }

  remove<T extends StoredRecord>(from: Collection<T>, before: T): void {
    this.add(from, { kind: 'remove', before });
  }

  expect<T extends StoredRecord>(of: Collection<T>, before: T): void {
    this.add(of, { kind: 'expect', before });
  }

  increment<T extends StoredRecord>(
    into: Collection<T>,
    id: string,
    field: string & keyof T,
    by: number,
    fixed: Partial<T>,
  ): void {
    this.add(into, { kind: 'increment', id, field, by, fixed });
  }

  publish(event: DomainEvent): void {
    this.events.push(tracedEvent(event));
  }

  async commit(): Promise<void> {
    const [batches, events] = [this.batches, this.events];
    if (batches.size > 0 || events.length > 0) await this.queue.commit({ batches: [...batches.values()], events });
  }

  private add<T extends StoredRecord>(to: Collection<T>, change: Change): void {
    const { name } = to.spec;
    const batch = this.batches.get(name) ?? createBatch(to);
    this.batches.set(name, batch);
    batch.changes.push(change);
  }
}

export function createUnit(queue: CommitQueue): UnitOfWork {
  return new MongoUnitOfWork(queue);
}

/** Whether a record gives up a unique value. */
function movesUnique<T extends StoredRecord>({ spec }: Collection<T>, before: T, after: T): boolean {
  const fields = spec.indexes.flatMap((index) => (index.unique ? index.fields : []));
  return fields.some(
    (field) => before[field] !== undefined && before[field] !== null && before[field] !== after[field],
  );
}
