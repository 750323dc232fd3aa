import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { endRun } from '../end.js';
import { failureOf, RunError } from '../failure.js';
import { type AutomationRunRecord, runQueue } from '../records.js';
import { versionOf } from '../version.js';
import { type ExecutionParts, RunExecution } from './execution.js';

const LEASE_MS = 15_000;
const MAX_FAILURES = 8;
const BACKOFF = { firstMs: 500, maxMs: 10_000 };

interface RunWorker {
  readonly queue: Queue<AutomationRunRecord>;
  /** Checks at once whether a run that this process executes was canceled. */
  refresh(runId: string): void;
}

/** Opens the queue that executes runs. One tenant occupies at most half of the workers. */
export async function openRunWorker(parts: ExecutionParts): Promise<RunWorker> {
  const { store, log, settings, now } = parts;
  const held = new Map<string, HeldJob<AutomationRunRecord>>();
  const queue = await openQueue<AutomationRunRecord>({
    ...{ store, log, spec: runQueue, concurrency: settings.automationWorkers, leaseMs: LEASE_MS, now },
    ...{ maxFailures: MAX_FAILURES, backoff: BACKOFF },
    group: { of: ({ tenant }) => tenant, concurrency: Math.max(Math.ceil(settings.automationWorkers / 2), 1) },
    onClaim: (_, record) => claimedFields(parts, record),
    async run(job) {
      held.set(job.record.id, job);
      try {
        await new RunExecution(parts, job).run();
      } finally {
        held.delete(job.record.id);
      }
    },
    async onGivenUp(job, error) {
      log.error('automation_run.given_up', { run_id: job.record.id, error });
      const failure = failureOf(new RunError('internal', 'Something went wrong on our side.', true));
      await endRun(
        parts,
        job,
        job.record.cancelRequested ? { status: 'canceled' } : { status: 'failed', error: failure },
      );
    },
  });
  return {
    queue,
    refresh: (runId) => {
      // A save that loses the race against the cancellation reads the run again.
      held
        .get(runId)
        ?.save()
        .catch(() => {});
    },
  };
}

/** Returns the changes when a worker claims a run; they resume its time limit. */
async function claimedFields(
  parts: ExecutionParts,
  run: AutomationRunRecord,
): Promise<Partial<AutomationRunRecord> | undefined> {
  const now = parts.now();
  const startedAt = run.startedAt ?? new Date(now).toISOString();
  const running = { status: 'running', startedAt, remainingMs: undefined, clock: undefined } as const;
  const { endsBy, remainingMs, clock } = run;
  if (remainingMs !== undefined) {
    const passedMs = clock === undefined || clock.isStopped ? 0 : now - Date.parse(clock.since);
    return { ...running, endsBy: new Date(now + remainingMs - passedMs).toISOString() };
  }
  if (endsBy !== undefined) return running;
  const version = await versionOf(parts, run, await parts.automations.get(run.automationId));
  const limitMs = (version?.timeoutSeconds ?? 0) * 1000;
  return { ...running, endsBy: new Date(now + limitMs).toISOString() };
}
