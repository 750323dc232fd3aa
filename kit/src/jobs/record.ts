import type { CollectionSpec, Condition, StoredRecord, Where } from '../store/port.js';

/** Why a job was given up. */
export interface DeadLetter {
  /** Time at which the job was given up, RFC 3339. */
  readonly at: string;
  /** The error's code; its name if it has no code. */
  readonly code: string;
  readonly message: string;
}

/** Fields that a record of a queue may have besides its own. Only the queue writes them, except `traceparent`. */
export interface JobRecord extends StoredRecord {
  /**
   * `holder` names the worker that holds the record; it is empty if none does. `epoch` increases by one with each
   * claim.
   */
  readonly lease?: { readonly holder: string; readonly epoch: number } | undefined;
  /** Number of consecutive failures of the job. */
  readonly failures?: number | undefined;
  /** How many of these failures do not count towards giving the job up, because something that it needs was unavailable. */
  readonly waits?: number | undefined;
  /** When the job was given up, RFC 3339. */
  readonly deadAt?: string | undefined;
  readonly deadLetter?: DeadLetter | undefined;
  /**
   * Trace context of the request that created the job, from `traceparentNow`; its owner writes it. Each attempt is a span of
   * that trace.
   */
  readonly traceparent?: string | undefined;
}

/**
 * Describes a queue: the collection whose records are its jobs, and the field that holds the time at which a record is
 * due. A record without that field is not waiting. While a worker holds a record, the field is the end of its lease.
 */
export interface QueueSpec<T extends JobRecord> {
  /** Unique among all queues, in the form `files.uploads`; names the queue in metrics, logs and commands. */
  readonly name: string;
  readonly collection: CollectionSpec<T>;
  /** RFC 3339. The collection has an index that begins with this field, and `DEAD_INDEX`. */
  readonly due: keyof T & string;
  /** A record is a job only while this field has one of these values; without it every record with a due time is. */
  readonly waiting?: { readonly field: keyof T & string; readonly values: readonly string[] };
  /** Returns one line about a job for operators. */
  describe(record: T): string;
  /**
   * Returns why a dead letter must not be deleted; undefined if it may be. Absent if every dead letter may be deleted.
   */
  keptBecause?(record: T): string | undefined;
}

/** Returns whether a record waits for a worker, now or later, or is held by one. */
export function isJob<T extends JobRecord>(spec: QueueSpec<T>, record: T): boolean {
  const { waiting } = spec;
  if (waiting !== undefined && !waiting.values.includes(record[waiting.field] as string)) return false;
  return dueAt(spec, record) !== undefined;
}

/** Returns the filter for the jobs of a queue whose due time meets a condition. */
export function whereDue<T extends JobRecord>({ due, waiting }: QueueSpec<T>, condition: Condition): Where<T> {
  const among = waiting === undefined ? {} : { [waiting.field]: { in: waiting.values } };
  return { ...among, [due]: condition } as Where<T>;
}

/** Index that the collection of every queue needs besides that on its due field. */
export const DEAD_INDEX = { fields: ['deadAt'], sparse: true } as const;

/** Returns when a record is due or its lease ends, RFC 3339; undefined if the record is not waiting. */
export function dueAt<T extends JobRecord>({ due }: QueueSpec<T>, record: T): string | undefined {
  return record[due] as string | undefined;
}

/** Converts epoch milliseconds to RFC 3339. */
export const timestamp = (ms: number): string => new Date(ms).toISOString();
