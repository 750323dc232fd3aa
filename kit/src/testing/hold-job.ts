import { newId } from '../id/index.js';
import { claimJob } from '../jobs/held-job.js';
import type { HeldJob, JobRecord, QueueSpec } from '../jobs/index.js';
import type { Store } from '../store/index.js';

/**
 * Claims a job as a queue does, for tests that run a worker themselves. `isStopping` replaces the check whether the
 * process is stopping. Rejects if another worker was faster.
 */
export async function holdJob<T extends JobRecord>(
  store: Store,
  spec: QueueSpec<T>,
  record: T,
  isStopping: () => boolean = () => false,
): Promise<HeldJob<T>> {
  const context = {
    ...{ store, spec, collection: await store.collection(spec.collection), holder: newId() },
    ...{ leaseMs: 3_600_000, now: Date.now, stopping: new AbortController().signal, ownUnit() {} },
  };
  const held = await claimJob(context, record, () => ({}));
  if (held === undefined) throw new Error(`${spec.name}: another worker holds ${record.id}`);
  return new Proxy(held, {
    get(target, name) {
      if (name === 'isStopping') return isStopping();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
