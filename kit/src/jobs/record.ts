import type { CollectionSpec, Condition, StoredRecord, Where } from '../store/port.js';

/** Why a job was given up. */
export interface DeadLetter {
  /** When it was given up, RFC 3339. */
  readonly at: string;
  /** The error's name, or its code where it has one. */
  readonly code: string;
  readonly message: string;
}

/** What every record of a queue may carry besides its own fields; the queue alone writes it. */
export interface JobRecord extends StoredRecord {
  /** `holder` names the worker that holds the record, and is empty where none does. `epoch` rises by one with each claim. */
  readonly lease?: { readonly holder: string; readonly epoch: number } | undefined;
  /** How often in a row the job has failed. */
  readonly failures?: number | undefined;
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
 * Describes a queue: the collection whose records are its jobs, and the field that says when a record is due. A record
 * without that field is not waiting for anything. While a worker holds a record, the field is the end of its lease.
 */
export interface QueueSpec<T extends JobRecord> {
  /** Unique among all queues, in the form `files.uploads`; names the queue in metrics, logs and commands. */
  readonly name: string;
  readonly collection: CollectionSpec<T>;
  /** RFC 3339. The collection has an index that begins with this field, and `DEAD_INDEX`. */
  readonly due: keyof T & string;
  /** A record is a job only while this field has one of these values; without it every record with a due time is. */
  readonly waiting?: { readonly field: keyof T & string; readonly values: readonly string[] };
  /** One line about a job for operators. */
  describe(record: T): string;
  /**
   * Why a job that was given up must not be deleted; undefined where it may be. Absent where every job may be deleted.
   */
  keptBecause?(record: T): string | undefined;
}

/** Whether a record waits for a worker, now or later, or is held by one. */
export function isJob<T extends JobRecord>(spec: QueueSpec<T>, record: T): boolean {
  const { waiting } = spec;
  if (waiting !== undefined && !waiting.values.includes(record[waiting.field] as string)) return false;
  return dueAt(spec, record) !== undefined;
}

/** The filter of the jobs of a queue whose due time meets a condition. */
export function whereDue<T extends JobRecord>({ due, waiting }: QueueSpec<T>, condition: Condition): Where<T> {
  const among = waiting === undefined ? {} : { [waiting.field]: { in: waiting.values } };
  return { ...among, [due]: condition } as Where<T>;
}

/** The index that the collection of every queue needs besides the one of its due field. */
export const DEAD_INDEX = { fields: ['deadAt'], sparse: true } as const;

/** When a record is due or its lease ends, RFC 3339; undefined where it waits for nothing. */
export function dueAt<T extends JobRecord>({ due }: QueueSpec<T>, record: T): string | undefined {
  return record[due] as string | undefined;
}

/** Converts epoch milliseconds to RFC 3339. */
export const timestamp = (ms: number): string => new Date(ms).toISOString();
