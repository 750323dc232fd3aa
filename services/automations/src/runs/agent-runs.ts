import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import { consume } from '@commonplace/platform/events';
import { hasEnded } from './cancel.js';
import type { RunParts } from './parts.js';

type WakeParts = Pick<RunParts, 'runs' | 'steps' | 'store' | 'now'>;

/** Resumes runs whose agent run has ended. */
export function watchAgentRuns(parts: WakeParts, bus: EventBus): Promise<Subscription> {
  const events = ['agents.agent_run.finished'] as const;
  return consume(bus, { consumer: 'automations.agent_runs', events }, ({ subject }) => wake(parts, subject));
}

/**
 * Makes the run due. A run that a worker holds becomes due again right after, since the worker may have checked the
 * agent before.
 */
async function wake({ runs, steps, store, now }: WakeParts, agentRunId: string): Promise<void> {
  const [step] = await steps.find({ where: { agentRunId }, limit: 1 });
  if (step === undefined || (step.status !== 'running' && step.status !== 'waiting')) return;
  await inWork(store, async (work) => {
    const run = await work.get(runs, step.runId);
    if (run === undefined || hasEnded(run)) return;
    work.replace(runs, run, { ...run, dueAt: new Date(now()).toISOString() });
  });
}
