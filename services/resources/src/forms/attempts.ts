import { isPassing } from '@commonplace/kit/errors';
import { derivedId, fileIdOf, newId } from '@commonplace/kit/id';
import { DEAD_INDEX, type HeldJob, type JobRecord, openQueue, type Queue, type QueueSpec } from '@commonplace/kit/jobs';
import { inWork } from '@commonplace/kit/store';
import { eventsBy, publishChange } from '../events.js';
import { purgeAll } from '../tree/trash.js';
import type { FoundForm } from './known.js';
import type { FormParts } from './parts.js';

/**
 * An attempt to store the files of a submission and then its row. The row's unit of work deletes the record; otherwise
 * it is the job that deletes the files.
 */
export interface FileAttempt extends JobRecord {
  readonly tenant: string;
  readonly formId: string;
  readonly fileIds: readonly string[];
  /** When the job becomes due; while a worker holds it, the end of the lease. */
  readonly dueAt: string;
}

export const fileAttemptQueue: QueueSpec<FileAttempt> = {
  name: 'resources.form_files',
  collection: { name: 'form_file_attempts', indexes: [{ fields: ['dueAt'] }, DEAD_INDEX] },
  due: 'dueAt',
  describe: ({ formId, fileIds }) => `files ${fileIds.join(', ')} of form ${formId}`,
};

/** Milliseconds that calls which have begun before the deadline of a submission may still take effect. */
const MARGIN_MS = 60_000;

type AttemptParts = Pick<FormParts, 'store' | 'log' | 'forms'>;

/** Records that a submission is about to store `files` files, before any of it happens. */
export function beginFileAttempt(
  { store, forms }: AttemptParts,
  { form }: FoundForm,
  files: number,
  deadline: number,
): Promise<FileAttempt> {
  const id = newId();
  const fileIds = Array.from({ length: files }, (_, i) => fileIdOf(fileOperation(id, i)));
  const dueAt = new Date(store.now() + Math.max(deadline - Date.now(), 0) + MARGIN_MS).toISOString();
  const attempt = { id, tenant: form.tenant, formId: form.id, fileIds, dueAt };
  return inWork(store, async (work) => work.insert(forms.attempts, attempt));
}

/** Returns the idempotency id of the creation of one file of an attempt. */
export function fileOperation(attemptId: string, index: number): string {
  return derivedId(`form-file/${attemptId}/${index}`);
}

/** Whether the row of an attempt can no longer be written, because its files may be being deleted. */
export function isOver({ dueAt }: FileAttempt, now: number): boolean {
  return now >= Date.parse(dueAt);
}

/**
 * Stores files and their row. If that fails, or the row exists already, the files are deleted at once, or after the
 * deadline if a call may still take effect.
 */
export async function orDiscard<T>(parts: AttemptParts, attempt: FileAttempt, act: () => Promise<T>): Promise<T> {
  try {
    const done = await act();
    await discardNow(parts, attempt);
    return done;
  } catch (error) {
    if (!isPassing(error)) await discardNow(parts, attempt);
    throw error;
  }
}

/** Makes the job due, if the row has not deleted it. Should that fail, it becomes due later. */
async function discardNow({ store, log, forms: { attempts } }: AttemptParts, { id }: FileAttempt): Promise<void> {
  await inWork(store, async (work) => {
    const left = await work.get(attempts, id);
    if (left !== undefined) work.replace(attempts, left, { ...left, dueAt: new Date(store.now()).toISOString() });
  }).catch((error) => log.warn('forms.files_not_discarded', { error }));
}

/** Number of attempts whose files a process deletes concurrently. */
const CONCURRENCY = 2;
const DAY_MS = 86_400_000;

/** Opens the queue that deletes the files of submissions that were not stored. */
export function openFileAttempts({
  partsOf,
  ...parts
}: Pick<FormParts, 'store' | 'log'> & { partsOf(): FormParts }): Promise<Queue<FileAttempt>> {
  return openQueue<FileAttempt>({
    ...parts,
    spec: fileAttemptQueue,
    concurrency: CONCURRENCY,
    retryDeadAfterMs: DAY_MS,
    // The requests ended with the process.
    allDueAtStart: true,
    run: (job) => discardFiles(partsOf(), job),
  });
}

const ACTOR = { type: 'system', id: 'resources', name: 'Forms' } as const;

async function discardFiles(parts: FormParts, job: HeldJob<FileAttempt>): Promise<void> {
  const { counters, tree } = parts;
  await job.remove(async (work, { fileIds, tenant }) => {
    const nodes = await tree.nodes.getMany(fileIds);
    const [first, ...others] = nodes;
    if (first === undefined) return;
    counters.add(
      work,
      nodes.filter(({ state }) => state === 'active'),
      -1,
    );
    await purgeAll(parts, work, nodes);
    publishChange(eventsBy(ACTOR, tenant, work), { verb: 'resource.purged' }, first, others);
  });
}
