import { type Collection, LostRace, type NumberRange, type StoredRecord, UniqueTaken } from '@commonplace/kit/store';
import { type AnyBulkWriteOperation, type ClientSession, type Document, Double } from 'mongodb';
import { encodeFields, encodeRecord, pathOf, type StoredDocument } from './codec.js';
import { type RawCollection, rawOf } from './collection.js';
import { duplicateOf } from './errors.js';

/** One change to one record, as a unit of work collects it. */
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
      /** Range in which the sum must lie; the record must exist. If absent, a missing record is created. */
      readonly within?: { readonly range: NumberRange; readonly refused: (() => void) | undefined };
    };

/** The changes to one collection, in order. */
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

/** Returns the record as the changes would leave it. */
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
      // This is a real write, so that a concurrent transaction that writes the record conflicts with this one.
      return { updateOne: { filter: asRead(change.before), update: { $inc: { _held: 1 } } as Document } };
    case 'increment': {
      const path = pathOf(change.field);
      const { [path]: _, ...fixed } = encodeFields({ ...change.fixed, [change.field]: undefined });
      if (change.within !== undefined) {
        const filter = { _id: { $eq: change.id }, ...conditionOf(path, change.by, change.within.range) };
        return { updateOne: { filter, update: { $inc: { [path]: new Double(change.by) } } as Document } };
      }
      // A double adds like a JavaScript number, and never overflows into another type.
      const update: Document = { $inc: { [path]: new Double(change.by) }, $setOnInsert: { version: 1, ...fixed } };
      return { updateOne: { filter: { _id: { $eq: change.id } }, update, upsert: true } };
    }
  }
}

/** Returns the condition that a number plus `by` lies within a range. */
function conditionOf(path: string, by: number, { atLeast, atMost }: NumberRange): Document {
  const ends = {
    ...(atLeast !== undefined && { $gte: new Double(atLeast - by) }),
    ...(atMost !== undefined && { $lte: new Double(atMost - by) }),
  };
  return Object.keys(ends).length === 0 ? {} : { [path]: ends };
}

function isWithin(value: unknown, by: number, { atLeast = -Infinity, atMost = Infinity }: NumberRange): boolean {
  const sum = Number(value ?? Number.NaN) + by;
  return sum >= atLeast && sum <= atMost;
}

function asRead(record: StoredRecord) {
  return { _id: { $eq: record.id }, version: { $eq: record.version } };
}

/**
 * Sends the changes to one collection. Rejects with UniqueTaken, with LostRace for an id that exists already, or with
 * `StaleRead` if a record is no longer as it was read.
 */
export async function sendBatch(batch: Batch, session?: ClientSession): Promise<void> {
  const { name, raw } = batch;
  const changes = inFewCommands(batch.changes);
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

/** Types of commands in the order in which they are sent: a unique value is released before it is taken. */
const COMMAND_ORDER: Readonly<Record<Change['kind'], number>> = {
  remove: 0,
  replace: 1,
  expect: 1,
  increment: 1,
  insert: 2,
};

/**
 * Orders changes by type of command, because the driver sends each run of one type as a command. Changes of which several
 * concern a record that is inserted or removed keep their order, which matters then.
 */
function inFewCommands(changes: readonly Change[]): readonly Change[] {
  const made = changes.filter(({ kind }) => COMMAND_ORDER[kind] !== COMMAND_ORDER.replace).map(idOf);
  const ids = new Set(made);
  const updates = changes.filter(({ kind }) => COMMAND_ORDER[kind] === COMMAND_ORDER.replace);
  if (ids.size < made.length || updates.some((change) => ids.has(idOf(change)))) return changes;
  return [...changes].sort((a, b) => COMMAND_ORDER[a.kind] - COMMAND_ORDER[b.kind]);
}

/** Thrown when some record of a unit is no longer as it was read; which one is not known yet. */
export class StaleRead extends Error {
  override readonly name = 'StaleRead';
}

/** Thrown when another unit created the record that an increment would have created. The work can be run again. */
export class MadeMeanwhile extends Error {
  override readonly name = 'MadeMeanwhile';
}

/** Returns the race that a unit lost: the first record that is no longer as it was read. */
export async function findLostRace(batches: readonly Batch[]): Promise<LostRace> {
  const read: { readonly name: string; readonly id: string }[] = [];
  for (const { name, raw, changes } of batches) {
    for (const before of firstRead(changes)) {
      const now = await raw.findOne({ _id: { $eq: before.id } }, { projection: { version: 1 } });
      if (now?.version !== before.version) return new LostRace(name, before.id);
      read.push({ name, id: before.id });
    }
  }
  for (const { name, raw, changes } of batches) {
    for (const change of changes) {
      if (change.kind !== 'increment' || change.within === undefined) continue;
      const path = pathOf(change.field);
      const now: Document | null = await raw.findOne({ _id: { $eq: change.id } }, { projection: { [path]: 1 } });
      read.push({ name, id: change.id });
      if (isWithin(now?.[path], change.by, change.within.range)) continue;
      change.within.refused?.();
      return new LostRace(name, change.id);
    }
  }
  const [first] = read;
  return new LostRace(first?.name ?? '', first?.id ?? '');
}

/** Returns the records that the changes compare with the store, each as its first change read it. */
function firstRead(changes: readonly Change[]): StoredRecord[] {
  const seen = new Set<string>();
  return changes.flatMap((change) => {
    const isFirst = !seen.has(idOf(change));
    seen.add(idOf(change));
    return isFirst && 'before' in change ? [change.before] : [];
  });
}
