import { timeLeft } from '@commonplace/kit/deadline';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection, CollectionSpec, Index, Query, StoredRecord, Where } from '@commonplace/kit/store';
import type { Db, Document, IndexDescription, Collection as MongoCollection } from 'mongodb';
import { observeCollection } from '../store/telemetry.js';
import { decodeRecord, elementsOf, pathOf, type StoredDocument } from './codec.js';
import { reading } from './errors.js';
import { explainPlan } from './explain.js';
import { filterOf, orderOf, queryFilter } from './filter.js';
import { createLookups, documentsOf, takeEach } from './lookups.js';

export type RawCollection = MongoCollection<StoredDocument>;

/** Maximum time in milliseconds that the server works on one read. */
const MAX_READ_MS = 10_000;

/** Maximum number of ids that a read of several records shares a query with other reads for. */
const MAX_BATCHED_IDS = 50;

/** Returns options that make the server stop when the caller's deadline passes. */
function limits(): { maxTimeMS: number } {
  return { maxTimeMS: timeLeft(MAX_READ_MS) };
}

const raws = new WeakMap<object, RawCollection>();

/** Returns the driver's collection behind one of this store. Throws TypeError for a collection of another adapter. */
export function rawOf<T extends StoredRecord>(collection: Collection<T>): RawCollection {
  const raw = raws.get(collection);
  if (raw === undefined) throw new TypeError(`${collection.spec.name} was not opened by this store`);
  return raw;
}

/** Opens a collection. Creates the collection and its indexes if they are missing. */
export async function openCollection<T extends StoredRecord>(db: Db, spec: CollectionSpec<T>): Promise<Collection<T>> {
  const raw = db.collection<StoredDocument>(spec.name);
  await reading(async () => {
    // Within a transaction, the first write does not always create the collection.
    await db.createCollection(spec.name).catch((error: { codeName?: string }) => {
      if (error.codeName !== 'NamespaceExists') throw error;
    });
    // MongoDB has no index of parts, and tests the values of another index.
    const ordered = spec.indexes.filter(({ substrings }) => !substrings);
    if (ordered.length > 0) await raw.createIndexes(ordered.map(describeIndex));
  });
  const place = { system: 'mongodb', service: db.databaseName, synchronous: false };
  const collection = observeCollection(place, createCollection(raw, spec));
  raws.set(collection, raw);
  return collection;
}

/**
 * Returns the driver's description of an index. A unique index is sparse, so that records without the field are
 * ignored; other indexes end with the id.
 */
function describeIndex<T>(index: Index<T>): IndexDescription {
  const paths = index.fields.map((field) => (index.many ? elementsOf(field) : pathOf(field)));
  if ((index.unique || index.many) && paths.length !== 1) {
    throw new TypeError('a unique index, or one of elements, has one field');
  }
  if (index.unique) return { key: { [String(paths[0])]: 1 }, name: String(paths[0]), unique: true, sparse: true };
  const key = Object.fromEntries([...paths.filter((path) => path !== '_id'), '_id'].map((path) => [path, 1] as const));
  return { key, name: Object.keys(key).join('+') };
}

/** Returns whether the query filters by id or by a unique value, so that there is nothing to sort. */
function findsOne<T extends StoredRecord>({ indexes }: CollectionSpec<T>, { where }: Query<T>): boolean {
  const unique = indexes.flatMap((index) => (index.unique ? index.fields : []));
  const values = where as Record<string, unknown>;
  return ['id', ...unique].some((field) => ['string', 'number'].includes(typeof values[field]));
}

function sortOf<T>({ sort }: Query<T>): [string, 1 | -1][] {
  return orderOf(sort).map(([path, direction]) => [path, direction]);
}

/**
 * Returns whether a group has a value. The records without one are not left out by the server, as it would have to read
 * each record for that, where an index has all that it counts.
 */
const hasValue = ({ _id }: { readonly _id: unknown }): boolean => _id !== null;

/** Returns the pipeline that reads one record, by the end of an index: the one with the greatest value for a value. */
function greatestOf(by: string, value: string, max: string): Document[] {
  return [
    { $match: { [by]: { $eq: value }, [max]: { $exists: true } } },
    { $sort: { [max]: -1 } },
    { $limit: 1 },
    { $project: { _id: 0, by: `$${by}`, max: `$${max}` } },
  ];
}

/** Returns the pipeline that counts the matches of one of several filters. */
function countOf<T>(where: Where<T>, at: number): Document[] {
  return [{ $match: filterOf(where) }, { $group: { _id: { $literal: at }, count: { $sum: 1 } } }];
}

function createCollection<T extends StoredRecord>(raw: RawCollection, spec: CollectionSpec<T>): Collection<T> {
  const lookup = createLookups(raw);
  const cursorOf = (query: Query<T>) =>
    raw.find(queryFilter(query), {
      ...limits(),
      ...(query.anyOrder || findsOne(spec, query) ? {} : { sort: sortOf(query) }),
      limit: query.limit,
      skip: query.offset ?? 0,
      batchSize: query.limit + 1,
    });
  const find = (query: Query<T>): Promise<T[]> =>
    reading(async () => {
      if (query.limit <= 0) return [];
      const records: T[] = [];
      await takeEach(cursorOf(query), (document) => records.push(decodeRecord<T>(document)));
      return records;
    });
  const count = (where: Where<T>, limit?: number): Promise<number> =>
    reading(async () => {
      if (limit !== undefined && limit <= 0) return 0;
      return raw.countDocuments(filterOf(where), { ...limits(), ...(limit === undefined ? {} : { limit }) });
    });
  return {
    spec,
    get: (id) =>
      reading(async () => {
        const found = await lookup(id, timeLeft(MAX_READ_MS));
        return found === undefined ? undefined : decodeRecord<T>(found);
      }),
    getMany: (ids) =>
      reading(async () => {
        if (ids.length === 0) return [];
        const maxTimeMS = timeLeft(MAX_READ_MS);
        const found =
          ids.length > MAX_BATCHED_IDS
            ? await documentsOf(raw, ids, maxTimeMS).then((byId) => ids.map((id) => byId.get(id)))
            : await Promise.all(ids.map((id) => lookup(id, maxTimeMS)));
        const records: T[] = [];
        const breathe = createBreathe();
        for (const document of found) {
          if (document !== undefined) records.push(decodeRecord<T>(document));
          await breathe();
        }
        return records;
      }),
    find,
    count,
    countEach: (wheres) =>
      reading(async () => {
        const [first, ...others] = wheres.map(countOf);
        if (first === undefined) return [];
        const stages = [...first, ...others.map((pipeline) => ({ $unionWith: { coll: spec.name, pipeline } }))];
        const found = await raw.aggregate<{ _id: number; count: number }>(stages, limits()).toArray();
        const counts = new Map(found.map(({ _id, count }) => [_id, count]));
        return wheres.map((_, at) => counts.get(at) ?? 0);
      }),
    findAndCount: async (query, countLimit) => {
      const [found, counted] = await Promise.all([find(query), count(query.where, countLimit)]);
      return { found, count: counted };
    },
    countBy: (field, where) =>
      reading(async () => {
        const path = pathOf(field);
        const group = { $group: { _id: `$${path}`, count: { $sum: 1 } } };
        const stages = [{ $match: filterOf(where) }, group];
        const groups = await raw.aggregate<{ _id: unknown; count: number }>(stages, limits()).toArray();
        return new Map(groups.filter(hasValue).map(({ _id, count }) => [String(_id), count]));
      }),
    sum: (field, where) =>
      reading(async () => {
        const group = { $group: { _id: null, sum: { $sum: `$${pathOf(field)}` } } };
        const [total] = await raw.aggregate<{ sum: number }>([{ $match: filterOf(where) }, group], limits()).toArray();
        return Number(total?.sum ?? 0);
      }),
    sumBy: ({ sum: added, by }, where) =>
      reading(async () => {
        const path = pathOf(by);
        const group = { $group: { _id: `$${path}`, sum: { $sum: `$${pathOf(added)}` } } };
        const stages = [{ $match: filterOf(where) }, group];
        const groups = await raw.aggregate<{ _id: unknown; sum: number }>(stages, limits()).toArray();
        return new Map(groups.filter(hasValue).map(({ _id, sum }) => [String(_id), Number(sum)]));
      }),
    max: (field, where) =>
      reading(async () => {
        const path = pathOf(field);
        const filter = { $and: [filterOf(where), { [path]: { $exists: true } }] };
        const sort = { [path]: -1 } as const;
        const greatest = await raw.findOne(filter, { ...limits(), sort });
        return greatest === null ? undefined : decodeRecord<T>(greatest)[field];
      }),
    maxBy: ({ max, by }, values) =>
      reading(async () => {
        const [first, ...others] = [...new Set(values)].map((value) => greatestOf(pathOf(by), value, pathOf(max)));
        if (first === undefined) return new Map();
        const stages = [...first, ...others.map((pipeline) => ({ $unionWith: { coll: spec.name, pipeline } }))];
        const found = await raw.aggregate<{ by: string; max: string }>(stages, limits()).toArray();
        return new Map(found.map((one) => [one.by, one.max]));
      }),
    explain: (query) => reading(async () => explainPlan(await cursorOf(query).explain('queryPlanner'))),
  };
}
