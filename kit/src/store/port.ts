import type { DomainEvent } from '../events/port.js';

/** Fields that every stored record has. Times are RFC 3339 strings in UTC, so that they sort as text. */
export interface StoredRecord {
  readonly id: string;
  /** Version number, set by the store: 1 when the record is inserted, plus 1 at each update. */
  readonly version: number;
  /**
   * Id of the tenant that owns the record: an Org's id or the id of a Personal workspace. Absent if no tenant owns it.
   */
  readonly tenant?: string | undefined;
}

export type Scalar = string | number | boolean;

/** A condition on one field. If it has several entries, all of them must hold. */
export interface Condition {
  in?: readonly Scalar[];
  gt?: Scalar;
  gte?: Scalar;
  lt?: Scalar;
  lte?: Scalar;
  /** The string starts with this prefix, compared byte by byte. */
  prefix?: string;
  /** The string contains this text. It needs a scan, so use it only together with a condition that an index serves. */
  substring?: string;
  /** The array contains this element. */
  contains?: Scalar;
  /** The array contains at least one of these elements. */
  containsAny?: readonly Scalar[];
  /** Whether the field is present, that is, neither absent nor null. */
  exists?: boolean;
  not?: Scalar;
}

/**
 * A filter over top-level fields; all entries must hold. It is small on purpose, so that every adapter gives it the
 * same meaning.
 */
export type Where<T> = {
  readonly [F in keyof T & string]?: Scalar | Condition;
} & { readonly and?: readonly Where<T>[]; readonly or?: readonly Where<T>[] };

/**
 * `['name']` sorts ascending, `['-updatedAt']` descending. Ties are broken by id, in the direction of the last field.
 */
export type Sort<T> = readonly ((keyof T & string) | `-${keyof T & string}`)[];

export interface Query<T> {
  readonly where: Where<T>;
  /** Fields to sort by; every matching record must have them. Sorts by id when absent. */
  readonly sort?: Sort<T>;
  /**
   * The order does not matter, so that the adapter reads as many records as it returns, whichever index has them: for
   * work that repeats until nothing is found. It does not go with `sort`, `offset` or `after`.
   */
  readonly anyOrder?: boolean;
  readonly limit: number;
  readonly offset?: number;
  /** The keyset of the last record of the previous page, as `keyset` returns it. The query continues after it. */
  readonly after?: readonly Scalar[];
}

export interface Index<T> {
  readonly fields: readonly (keyof T & string)[];
  /** No two records may have the same value; records without the field are not compared. Allowed for one field only. */
  readonly unique?: boolean;
  /** The only field is an array, and `contains` finds a record by any of its elements. */
  readonly many?: boolean;
  /**
   * Few records have the last field, and the adapter may leave the others out of the index. The index serves queries
   * with a condition on that field, or sorted by it.
   */
  readonly sparse?: boolean;
  /**
   * The only field is a text, and `substring` finds a record by any part of it that has three characters or more. An
   * adapter may do without the index and test each record that the other conditions select.
   */
  readonly substrings?: boolean;
}

export interface CollectionSpec<T extends StoredRecord> {
  /** Name in snake_case, unique within its store. */
  readonly name: string;
  readonly indexes: readonly Index<T>[];
  /**
   * Name of the field that holds the time (RFC 3339) at which a record expires; an index must begin with it. Records
   * are deleted some minutes after that time.
   */
  readonly expires?: keyof T & string;
  /**
   * Whether a store in memory may keep what queries found until the next write to the collection: for collections that
   * most requests read and few write to.
   */
  readonly cachesQueries?: boolean;
  /** Type marker. */
  readonly record?: T;
}

/** A page of records, and the number of all that match. */
interface CountedPage<T> {
  readonly found: T[];
  readonly count: number;
}

/** The field whose numbers are added, and the field by whose values they are grouped. */
interface SumBy<Field extends string> {
  readonly sum: Field;
  readonly by: Field;
}

/** The field whose greatest value is returned, and the field for whose values it is. */
interface MaxBy<Field extends string> {
  readonly max: Field;
  readonly by: Field;
}

/**
 * A set of records of one kind.
 *
 * Duties of an adapter:
 * - A read returns committed data, including every commit that was acknowledged to any caller.
 * - Records are returned exactly as they were stored: no field is added, dropped or rounded; `undefined` means absent.
 * - Results follow the sort, with the id as the last sort key; strings are compared by code point.
 * - A condition never matches a record in which its field is absent, except `exists: false`.
 * - Strings are data: none is ever interpreted as an operator, a pattern or a path.
 *
 * Callers do not change the records that they read: an adapter may share them among all readers, frozen.
 */
export interface Collection<T extends StoredRecord> {
  readonly spec: CollectionSpec<T>;
  get(id: string): Promise<T | undefined>;
  /** Returns the records that exist, in the order of `ids`. */
  getMany(ids: readonly string[]): Promise<T[]>;
  find(query: Query<T>): Promise<T[]>;
  /** Returns the number of matching records, counted up to `limit`. */
  count(where: Where<T>, limit?: number): Promise<number>;
  /** Returns the number of matching records for each of some filters, in one read where the adapter can. */
  countEach(wheres: readonly Where<T>[]): Promise<number[]>;
  /**
   * Returns a page of the matching records, and their number counted up to `countLimit`: what `find` and `count` return,
   * in one read where the adapter can.
   */
  findAndCount(query: Query<T>, countLimit: number): Promise<CountedPage<T>>;
  /** Returns the number of matching records for each value of a field; values without a match are left out. */
  countBy(field: keyof T & string, where: Where<T>): Promise<Map<string, number>>;
  /** Returns the sum of a numeric field over all matching records. */
  sum(field: keyof T & string, where: Where<T>): Promise<number>;
  /** Returns the sum of the field `sum` for each value of the field `by`; values without a match are left out. */
  sumBy(fields: SumBy<keyof T & string>, where: Where<T>): Promise<Map<string, number>>;
  /**
   * Returns the greatest value of a string or number field over all matching records; undefined if no match has the
   * field.
   */
  max<F extends keyof T & string>(field: F, where: Where<T>): Promise<T[F] | undefined>;
  /**
   * Returns the greatest value of the text field `max` for each of some values of the text field `by`; values without a
   * match are left out. An index must begin with `by` and `max`.
   */
  maxBy(fields: MaxBy<keyof T & string>, values: readonly string[]): Promise<Map<string, string>>;
  /**
   * Returns how the adapter would run a query, for tests: `indexed` is false if it would read the whole collection or
   * sort without an index.
   */
  explain(query: Query<T>): Promise<{ indexed: boolean; plan: string }>;
}

/** A range of numbers with inclusive ends; a missing end is open. */
export interface NumberRange {
  readonly atLeast?: number;
  readonly atMost?: number;
}

/**
 * Collects writes and events that take effect together or not at all. They are collected first and checked against the
 * store at `commit`.
 *
 * Duties of an adapter:
 * - `commit` resolves when everything is durable, and rejects with nothing written.
 * - If a record's version is no longer the one that was read, or an inserted id exists already, `commit` rejects with
 *   `LostRace`; if a unique value is taken, with `UniqueTaken`, which names the index's field.
 * - Events of one unit keep their order, and are ordered after those of every unit that was acknowledged before this
 *   one began.
 */
export interface UnitOfWork {
  /** Returns a record as this unit would leave it: the unit's own writes take precedence over the store. */
  get<T extends StoredRecord>(from: Collection<T>, id: string): Promise<T | undefined>;
  /** Inserts a record and sets its version to 1. */
  insert<T extends StoredRecord>(into: Collection<T>, record: Omit<T, 'version'>): T;
  /** Replaces a record that was read. Its stored version must still be the one that was read. */
  replace<T extends StoredRecord>(into: Collection<T>, before: T, after: Omit<T, 'version'>): T;
  /** Deletes a record that was read. Its stored version must still be the one that was read. */
  remove<T extends StoredRecord>(from: Collection<T>, record: T): void;
  /**
   * Makes the commit depend on a record that was read but is not written: the commit rejects with `LostRace` if the
   * record's version has changed by then, or changes concurrently.
   */
  expect<T extends StoredRecord>(of: Collection<T>, record: T): void;
  /**
   * Adds `by` to a number of a record without reading it, so that concurrent units do not conflict. If the record is
   * missing, it is created with only `id`, `version`, `fixed` and the number. Its version stays 1.
   */
  increment<T extends StoredRecord>(
    into: Collection<T>,
    id: string,
    field: keyof T & string,
    by: number,
    fixed: Omit<T, 'id' | 'version'> extends infer R ? Partial<R> : never,
  ): void;
  /**
   * Adds `by` to a number of an existing record, provided that the sum is within `range`. If it is not, or if the
   * record or the number is missing, `commit` calls `refused` and rejects with `LostRace`. Concurrent units do not
   * conflict over it.
   */
  incrementWithin<T extends StoredRecord>(
    of: Collection<T>,
    id: string,
    field: keyof T & string,
    by: number,
    range: NumberRange,
    refused?: () => void,
  ): void;
  /** Adds an event to the outbox. */
  publish(event: DomainEvent): void;
  /** Whether there is anything to commit. */
  readonly dirty: boolean;
  commit(): Promise<void>;
}

/** Called after a unit of work was committed, with the ids of the records that it wrote to. It must not throw. */
export type CommitListener = (work: UnitOfWork, ids: readonly string[]) => void;

/** The collections of one service. */
export interface Store {
  /** Opens a collection. Creates the collection and its indexes if they are missing. */
  collection<T extends StoredRecord>(spec: CollectionSpec<T>): Promise<Collection<T>>;
  begin(): UnitOfWork;
  /** Whether this process is the only one that writes to the store while it runs. */
  readonly isExclusive: boolean;
  /**
   * Returns the time by the clock of the store, in epoch milliseconds. All processes that share the store agree on it, so that
   * leases end for all of them at the same time.
   */
  now(): number;
  /**
   * Calls `listener` after each commit of a unit of this store object that wrote to a collection. Returns a function that
   * removes the listener.
   */
  onCommit(collection: string, listener: CommitListener): () => void;
  /** Returns the opened collections whose records expire. */
  expiring(): readonly Collection<StoredRecord>[];
  close(): Promise<void>;
}

/** Thrown when another unit changed a record between its reading and the commit. The work may be run again. */
export class LostRace extends Error {
  constructor(
    readonly collection: string,
    readonly id: string,
  ) {
    super(`${collection}/${id} has changed`);
    this.name = 'LostRace';
  }
}

/** Thrown when a value that must be unique is already taken. */
export class UniqueTaken extends Error {
  constructor(
    readonly collection: string,
    readonly field: string,
  ) {
    super(`${collection}.${field} is taken`);
    this.name = 'UniqueTaken';
  }
}
