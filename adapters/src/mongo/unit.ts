import type { DomainEvent } from '@commonplace/kit/events';
import type { Collection, NumberRange, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Written } from '../store/listeners.js';
import { tracedEvent } from '../store/telemetry.js';
import { applyChanges, type Batch, type Change, createBatch, idOf } from './changes.js';
import type { CommitQueue } from './commit-queue.js';

/** Collects changes and events, and commits them together, in a transaction if there are several. */
class MongoUnitOfWork implements UnitOfWork {
  private readonly batches = new Map<string, Batch>();
  private readonly events: DomainEvent[] = [];

  constructor(
    private readonly queue: CommitQueue,
    private readonly committed: Committed,
  ) {}

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
      // For MongoDB this is the same as a replacement; SecantusDB never releases a unique value that an update removes.
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

  incrementWithin<T extends StoredRecord>(
    of: Collection<T>,
    id: string,
    field: string & keyof T,
    by: number,
    range: NumberRange,
    refused?: () => void,
  ): void {
    this.add(of, { kind: 'increment', id, field, by, fixed: {}, within: { range, refused } });
  }

  publish(event: DomainEvent): void {
    this.events.push(tracedEvent(event));
  }

  async commit(): Promise<void> {
    const [batches, events] = [this.batches, this.events];
    if (batches.size === 0 && events.length === 0) return;
    await this.queue.commit({ batches: [...batches.values()], events });
    const writes = [...batches].flatMap(([collection, { changes }]) =>
      changes.map((change) => ({ collection, id: idOf(change) })),
    );
    this.committed(this, writes);
  }

  private add<T extends StoredRecord>(to: Collection<T>, change: Change): void {
    const { name } = to.spec;
    const batch = this.batches.get(name) ?? createBatch(to);
    this.batches.set(name, batch);
    batch.changes.push(change);
  }
}

/** Is called after a unit was committed, with the records that it wrote to. */
type Committed = (work: UnitOfWork, writes: readonly Written[]) => void;

export function createUnit(queue: CommitQueue, committed: Committed): UnitOfWork {
  return new MongoUnitOfWork(queue, committed);
}

/** Returns whether a record gives up a unique value. */
function movesUnique<T extends StoredRecord>({ spec }: Collection<T>, before: T, after: T): boolean {
  const fields = spec.indexes.flatMap((index) => (index.unique ? index.fields : []));
  return fields.some(
    (field) => before[field] !== undefined && before[field] !== null && before[field] !== after[field],
  );
}
