import { type AnyBulkWriteOperation, type ClientSession, type Document, Double } from 'mongodb';
import { type Collection, LostRace, type StoredRecord, UniqueTaken } from '../port.js';
import { encodeFields, encodeRecord, pathOf, type StoredDocument } from './codec.js';
import { type RawCollection, rawOf } from './collection.js';
import { duplicateOf } from './errors.js';

/** One change of one record, as a unit of work gathers it. */
export type Change =
  | { readonly kind: 'insert'; readonly record: StoredRecord }
  | { readonly kind: 'replace'; readonly before: StoredRecord; readonly record: StoredRecord }
  | { readonly kind: 'remove'; readonly before: StoredRecord }
  | { readonly kind: 'expect'; readonly before: StoredRecord }
  | {
      readonly kind: 'increment';
      readonly id: string;
      readonly field: string;
      readonly by: number;
      readonly fixed: object;
    };

/** The changes of one collection, in their order. */
export interface Batch {
  readonly name: string;
  readonly raw: RawCollection;
  readonly changes: Change[];
}

export function idOf(change: Change): string {
  if (change.kind === 'increment') return change.id;
  return 'record' in change ? change.record.id : change.before.id;
}

export function createBatch<T extends StoredRecord>(collection: Collection<T>): Batch {
  return { name: collection.spec.name, raw: rawOf(collection), changes: [] };
}

/** A record after changes, as they would leave it. */
export function applyChanges(found: StoredRecord | undefined, changes: readonly Change[]): StoredRecord | undefined {
  let record = found;
  for (const change of changes) {
    if (change.kind === 'remove') record = undefined;
    else if (change.kind === 'increment') record = increment(record, change);
    else if (change.kind !== 'expect') record = change.record;
  }
  return record;
}

function increment(record: StoredRecord | undefined, change: Change & { kind: 'increment' }): StoredRecord {
  const { id, field, by, fixed } = change;
  const before = record ?? { ...fixed, id, version: 1 };
  const value = record === undefined ? 0 : Number((before as unknown as Record<string, unknown>)[field] ?? 0);
  return { ...before, [field]: value + by };
}

function operationOf(change: Change): AnyBulkWriteOperation<StoredDocument> {
  switch (change.kind) {
    case 'insert':
      return { insertOne: { document: encodeRecord(change.record) } };
    case 'replace':
      return { replaceOne: { filter: asRead(change.before), replacement: encodeRecord(change.record) } };
    case 'remove':
      return { deleteOne: { filter: asRead(change.before) } };
    case 'expect':
      // A real change, so that a transaction which writes the record meanwhile conflicts with this one.
      return { updateOne: { filter: asRead(change.before), update: { $inc: { _held: 1 } } as Document } };
    case 'increment': {
      const path = pathOf(change.field);
      const { [path]: _, ...fixed } = encodeFields({ ...change.fixed, [change.field]: undefined });
      // A double adds as numbers do here, and never overflows into another type.
      const update: Document = { $inc: { [path]: new Double(change.by) }, $setOnInsert: { version: 1, ...fixed } };
      return { updateOne: { filter: { _id: { $eq: change.id } }, update, upsert: true } };
    }
  }
}

function asRead(record: StoredRecord) {
  return { _id: { $eq: record.id }, version: { $eq: record.version } };
}

/**
 * Sends the changes of one collection. Rejects with UniqueTaken, with LostRace for an id that is
 * there already, or with `StaleRead` when a record is not as it was read.
 */
export async function sendBatch({ name, raw, changes }: Batch, session?: ClientSession): Promise<void> {
  const expected = (kind: Change['kind']): number => changes.filter((change) => change.kind === kind).length;
  try {
    const result = await raw.bulkWrite(changes.map(operationOf), { ordered: true, ...(session && { session }) });
    const touched = result.matchedCount + result.upsertedCount;
    if (
      touched !== expected('replace') + expected('increment') + expected('expect') ||
      result.deletedCount !== expected('remove')
    ) {
      throw new StaleRead();
    }
  } catch (error) {
    const duplicate = duplicateOf(error);
    if (duplicate === undefined) throw error;
    if (duplicate.index !== '_id_') throw new UniqueTaken(name, duplicate.index);
    const change = changes[duplicate.operation];
    if (change?.kind === 'increment') throw new MadeMeanwhile();
    throw new LostRace(name, change === undefined ? '' : idOf(change));
  }
}

/** Some record of a unit is not as it was read; which one is not known yet. */
export class StaleRead extends Error {
  override readonly name = 'StaleRead';
}

/** A record that an increment would have made was made meanwhile: it can be run again. */
export class MadeMeanwhile extends Error {
  override readonly name = 'MadeMeanwhile';
}

/** The race that a unit lost: the first record that is not as it was read. */
export async function findLostRace(batches: readonly Batch[]): Promise<LostRace> {
  const read = batches.flatMap(({ name, raw, changes }) => firstRead(changes).map((before) => ({ name, raw, before })));
  for (const { name, raw, before } of read) {
    const now = await raw.findOne({ _id: { $eq: before.id } }, { projection: { version: 1 } });
    if (now?.version !== before.version) return new LostRace(name, before.id);
  }
  const [first] = read;
  return new LostRace(first?.name ?? '', first?.before.id ?? '');
}

/** The records that changes compare with the store, each as its first change read it. */
function firstRead(changes: readonly Change[]): StoredRecord[] {
  const seen = new Set<string>();
  return changes.flatMap((change) => {
    const isFirst = !seen.has(idOf(change));
    seen.add(idOf(change));
    return isFirst && 'before' in change ? [change.before] : [];
  });
}
