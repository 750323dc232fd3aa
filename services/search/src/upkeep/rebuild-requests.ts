import { DEAD_INDEX, type JobRecord, openQueue, type Queue, type QueueSpec } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import { type CollectionSpec, inWork, type Store } from '@commonplace/kit/store';
import type { Indexer } from '../events.js';

/** An operator's request to rebuild the index. There is at most one; it is deleted when the rebuild has succeeded. */
interface RebuildRequest extends JobRecord {
  /** RFC 3339. */
  readonly requestedAt: string;
  readonly dueAt?: string;
}

/** Id of the only record. */
const REQUEST_ID = 'index';

const collection: CollectionSpec<RebuildRequest> = {
  name: 'index_rebuilds',
  indexes: [{ fields: ['dueAt'] }, DEAD_INDEX],
};

export const rebuildQueue: QueueSpec<RebuildRequest> = {
  name: 'search.index_rebuilds',
  collection,
  due: 'dueAt',
  describe: ({ requestedAt }) => `rebuild of the search index, requested at ${requestedAt}`,
};

/** Opens the queue that rebuilds the index when an operator has requested it. One process does so at a time. */
export function openRebuilds(
  { store, log }: { readonly store: Store; readonly log: Log },
  indexer: Pick<Indexer, 'rebuild'>,
): Promise<Queue<RebuildRequest>> {
  return openQueue<RebuildRequest>({
    ...{ store, log, spec: rebuildQueue, concurrency: 1 },
    async run(job) {
      await indexer.rebuild(job.signal);
      await job.remove();
    },
  });
}

/**
 * Requests a rebuild from the processes of the service, also while none runs. A rebuild that is requested or running
 * already counts; one that was given up starts again.
 */
export function requestRebuild(store: Store, now = new Date().toISOString()): Promise<RebuildRequest> {
  return inWork(store, async (work) => {
    const requests = await store.collection(collection);
    const present = await work.get(requests, REQUEST_ID);
    if (present === undefined) return work.insert(requests, { id: REQUEST_ID, requestedAt: now, dueAt: now });
    if (present.lease?.holder) return present;
    const anew = { failures: undefined, waits: undefined, deadAt: undefined, deadLetter: undefined };
    return work.replace(requests, present, { ...present, ...anew, dueAt: now });
  });
}

/** Returns the request that is not done yet, if any. */
export async function readRebuildRequest(store: Store): Promise<RebuildRequest | undefined> {
  return (await store.collection(collection)).get(REQUEST_ID);
}
