import { type Collection, inWork, type Store, type Where } from '../store/index.js';
import { type DeadLetter, type JobRecord, type QueueSpec, timestamp } from './record.js';

/** A job that was given up, as operators see it. */
export interface GivenUpJob extends DeadLetter {
  readonly queue: string;
  readonly id: string;
  readonly tenant: string | undefined;
  readonly description: string;
  readonly failures: number;
}

/** Outcome of a request to retry or delete a dead letter. */
export type DeadLetterOutcome =
  | { readonly status: 'done' }
  | { readonly status: 'missing' }
  /** The job may not be deleted. */
  | { readonly status: 'refused'; readonly reason: string };

/** Gives operators access to the dead letters of one queue, while other processes run the queue. */
export interface DeadLetters {
  readonly queue: string;
  /** Returns a page of dead letters, the oldest first. `after` is the last job of the previous page. */
  list(limit: number, after?: Pick<GivenUpJob, 'at' | 'id'>): Promise<GivenUpJob[]>;
  has(id: string): Promise<boolean>;
  /** Makes a job due now and resets its count of failures. */
  retry(id: string): Promise<DeadLetterOutcome>;
  delete(id: string): Promise<DeadLetterOutcome>;
}

/** A queue of any records, for lists of queues of several kinds. */
// biome-ignore lint/suspicious/noExplicitAny: a spec is used with records of its own collection only.
export type AnyQueueSpec = QueueSpec<any>;

export async function openDeadLetters(store: Store, spec: AnyQueueSpec): Promise<DeadLetters> {
  const collection: Collection<JobRecord> = await store.collection(spec.collection);
  const isDead = ({ deadAt }: JobRecord) => deadAt !== undefined;

  const change = (id: string, act: (record: JobRecord) => Promise<DeadLetterOutcome | 'remove' | object>) =>
    inWork(store, async (work): Promise<DeadLetterOutcome> => {
      const record = await work.get(collection, id);
      if (record === undefined || !isDead(record)) return { status: 'missing' };
      const after = await act(record);
      if (after === 'remove') work.remove(collection, record);
      else if ('status' in (after as object)) return after as DeadLetterOutcome;
      else work.replace(collection, record, after as JobRecord);
      return { status: 'done' };
    });

  return {
    queue: spec.name,
    async list(limit, last) {
      const where: Where<JobRecord> = { deadAt: { gt: '' } };
      const after = last === undefined ? {} : { after: [last.at, last.id] };
      const found = await collection.find({ where, sort: ['deadAt'], limit, ...after });
      return found.map((record) => toGivenUpJob(spec, record));
    },
    has: async (id) => {
      const record = await collection.get(id);
      return record !== undefined && isDead(record);
    },
    retry: (id) =>
      change(id, async (record) => ({
        ...record,
        [spec.due]: timestamp(Date.now()),
        failures: undefined,
        waits: undefined,
        deadAt: undefined,
        deadLetter: undefined,
      })),
    delete: (id) =>
      change(id, async (record) => {
        const reason = spec.keptBecause?.(record);
        return reason === undefined ? 'remove' : { status: 'refused', reason };
      }),
  };
}

function toGivenUpJob(spec: AnyQueueSpec, record: JobRecord): GivenUpJob {
  const { id, tenant, failures = 0, deadLetter, deadAt = '' } = record;
  const { code = 'unknown', message = '' } = deadLetter ?? {};
  return { queue: spec.name, id, tenant, description: spec.describe(record), failures, at: deadAt, code, message };
}
