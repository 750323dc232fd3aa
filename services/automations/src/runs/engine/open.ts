import { createPeriodic } from '@commonplace/kit/jobs';
import { openCollections } from '@commonplace/kit/store';
import type { StartedModule } from '@commonplace/platform/runtime';
import { automationCollection } from '../../definitions/records.js';
import type { Shared } from '../../parts.js';
import { createActing } from '../acting.js';
import { createActions } from '../actions/table.js';
import { watchAgentRuns } from '../agent-runs.js';
import { CANCEL_TOPIC } from '../cancel.js';
import { createRunHandlers, type RunHandlers } from '../handlers.js';
import { RUN_RECORDS, type RunParts } from '../parts.js';
import { skipMarkedRuns } from '../queued.js';
import { openRunWorker } from './worker.js';

/** The feature of automation runs, with the handlers for runs. */
interface RunFeature extends StartedModule {
  readonly handlers: RunHandlers;
}

/** Milliseconds between two searches for runs that a process marked to be skipped before it ended. */
const SKIP_MS = 60_000;

export async function openRuns(shared: Shared): Promise<RunFeature> {
  const { store, bus, log } = shared;
  const parts: RunParts = { ...shared, ...(await openCollections(store, RUN_RECORDS)) };
  const { queue, refresh } = await openRunWorker({
    ...parts,
    acting: createActing(parts),
    actions: createActions(parts),
  });
  const skipping = createPeriodic({
    ...{ name: 'automations.skip-queued', everyMs: SKIP_MS, log },
    run: (signal) => skipMarkedRuns(parts, signal),
  });
  const unwatch = store.onCommit(automationCollection.name, () => {
    skipping.runNow().catch((error: unknown) => log.error('automations.skip_failed', { error }));
  });
  return {
    implementations: [],
    handlers: createRunHandlers(parts),
    runs: [queue, skipping, { close: unwatch }],
    consume: () => [bus.listen(CANCEL_TOPIC, refresh), watchAgentRuns(parts, bus)],
  };
}
