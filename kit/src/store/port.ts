import type { DomainEvent } from '../events/port.js';

/** What every stored record has. Times are RFC 3339 strings in UTC, so that they sort as text. */
export interface StoredRecord {
  readonly id: string;
  /** 1 when inserted, one more at each update; set by the store. */
  readonly version: number;
  /** Whose it is: an Org's id, or the id of a Personal workspace. Absent for what no tenant owns. */
  readonly tenant?: string | undefined;
}

export type Scalar = string | number | boolean;

/** A condition on one field. Several in one object must all hold. */
export interface Condition {
  in?: readonly Scalar[];
  gt?: Scalar;
  gte?: Scalar;
  lt?: Scalar;
  lte?: Scalar;
  /** A string that begins so, compared byte by byte. */
  prefix?: string;
  /** A string that holds this somewhere. Scans: only beside a condition that an index serves. */
  substring?: string;
  /** An array that holds this element. */
  contains?: Scalar;
  /** An array that holds one of these elements. */
  containsAny?: readonly Scalar[];
  /** Whether the field is there: neither absent nor null. */
  exists?: boolean;
  not?: Scalar;
}

/**
 * A filter over top-level fields; all entries must hold. Small on purpose, so that every adapter
 * means the same by it.
 */
export type Where<T> = {
  readonly [F in keyof T & string]?: Scalar | Condition;
} & { readonly and?: readonly Where<T>[]; readonly or?: readonly Where<T>[] };

/** `['name']` ascending, `['-updatedAt']` descending. The id breaks ties, in the last field's direction. */
export type Sort<T> = readonly ((keyof T & string) | `-${keyof T & string}`)[];

export interface Query<T> {
  readonly where: Where<T>;
  /** Fields that every matching record has. By id when absent. */
  readonly sort?: Sort<T>;
  readonly limit: number;
  readonly offset?: number;
  /** What `keyset` gave for the last record of the page before: continues behind it. */
  readonly after?: readonly Scalar[];
}

export interface Index<T> {
  readonly fields: readonly (keyof T & string)[];
  /** No two records may have the same value; those without the field do not count. One field only. */
  readonly unique?: boolean;
  /** The one field is an array, and each of its elements is found by `contains`. */
  readonly many?: boolean;
  /**
   * Few records have the last field, and the others need not be in the index: it serves queries with
   * a condition on that field, or sorted by it.
   */
  readonly sparse?: boolean;
}

export interface CollectionSpec<T extends StoredRecord> {
  /** snake_case, unique in its store. */
  readonly name: string;
  readonly indexes: readonly Index<T>[];
  /** Type marker. */
  readonly record?: T;
}

/**
 * A set of records of one kind.
 *
 * Duties of an adapter:
 * - What a reader gets was committed, and includes every commit that was acknowledged to anybody.
 * - Records come back as they were put in: no field is added, dropped or rounded; `undefined` is absent.
 * - Order is that of the sort with ids as the last word, strings compared by their code points.
 * - A condition never matches a record in which its field is absent, except `exists: false`.
 * - Strings are data: none is ever read as an operator, a pattern or a path.
 */
export interface Collection<T extends StoredRecord> {
  readonly spec: CollectionSpec<T>;
  get(id: string): Promise<T | undefined>;
  /** Those that are there, in the order asked for. */
  getMany(ids: readonly string[]): Promise<T[]>;
  find(query: Query<T>): Promise<T[]>;
  /** How many match, counted up to `limit`. */
  count(where: Where<T>, limit?: number): Promise<number>;
  /** How many match for each value of a field; values without a match are left out. */
  countBy(field: keyof T & string, where: Where<T>): Promise<Map<string, number>>;
  /** Sum of a numeric field over all matches. */
  sum(field: keyof T & string, where: Where<T>): Promise<number>;
  /** The greatest of a field of strings or of numbers over all matches; undefined where no match has it. */
  max<F extends keyof T & string>(field: F, where: Where<T>): Promise<T[F] | undefined>;
  /**
   * How the adapter would run a query, for tests: `indexed` is false where it would read the whole
   * collection or sort outside an index.
   */
  explain(query: Query<T>): Promise<{ indexed: boolean; plan: string }>;
}

/**
 * Writes that take effect together with their events, or not at all. They are gathered first and
 * compared with the store at `commit`.
 *
 * Duties of an adapter:
 * - `commit` resolves when all of it is durable, and rejects with nothing of it done.
 * - A record whose version is not the one read any more, or an inserted id that is there already,
 *   rejects with `LostRace`; a taken unique value with `UniqueTaken`, which names the index's field.
 * - Events of one unit keep their order, and a unit's events stand behind those of every unit that
 *   was acknowledged before it began.
 */
export interface UnitOfWork {
  /** A record as this unit would leave it: its own writes first, then the store's. */
  get<T extends StoredRecord>(from: Collection<T>, id: string): Promise<T | undefined>;
  /** Adds a record. Its version is set to 1. */
  insert<T extends StoredRecord>(into: Collection<T>, record: Omit<T, 'version'>): T;
  /** Replaces a record that was read, whose version must still be the one it has. */
  replace<T extends StoredRecord>(into: Collection<T>, before: T, after: Omit<T, 'version'>): T;
  /** Deletes a record that was read, whose version must still be the one it has. */
  remove<T extends StoredRecord>(from: Collection<T>, record: T): void;
  /**
   * Makes the commit depend on a record that was read and is not written: it rejects with `LostRace`
   * when the record's version is another by then, or changes in the same moment.
   */
  expect<T extends StoredRecord>(of: Collection<T>, record: T): void;
  /**
   * Adds to a number of a record without reading it, so that concurrent units do not race. A
   * missing record is made, holding only `id`, `version`, `fixed` and the number. Its version stays 1.
   */
  increment<T extends StoredRecord>(
    into: Collection<T>,
    id: string,
    field: keyof T & string,
    by: number,
    fixed: Omit<T, 'id' | 'version'> extends infer R ? Partial<R> : never,
  ): void;
  /** Puts an event into the outbox. */
  publish(event: DomainEvent): void;
  /** Whether there is anything to commit. */
  readonly dirty: boolean;
  commit(): Promise<void>;
}

/** The collections of one service. */
export interface Store {
  /** Opens a collection, and makes it and its indexes where they are missing. */
  collection<T extends StoredRecord>(spec: CollectionSpec<T>): Promise<Collection<T>>;
  begin(): UnitOfWork;
  close(): Promise<void>;
}

/** Somebody else changed a record between its reading and the commit. The work may be run again. */
export class LostRace extends Error {
  constructor(
    readonly collection: string,
    readonly id: string,
  ) {
    super(`${collection}/${id} has changed`);
    this.name = 'LostRace';
  }
}

/** A value that has to be unique is taken. */
export class UniqueTaken extends Error {
  constructor(
    readonly collection: string,
    readonly field: string,
  ) {
    super(`${collection}.${field} is taken`);
    this.name = 'UniqueTaken';
  }
}
