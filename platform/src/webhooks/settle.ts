import type { Changes, HeldJob } from '@commonplace/kit/jobs';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { Outcome } from './attempt.js';
import { type Delivery, type DisabledReason, type TargetState, targetStateId } from './records.js';
import { delayAfter, FAILING_MS } from './schedule.js';

export interface Settling {
  readonly states: Collection<TargetState>;
  readonly now: () => number;
  readonly random: () => number;
  disabled(work: UnitOfWork, delivery: Delivery, reason: DisabledReason): Promise<void>;
}

/** Records the outcome of an attempt and the time of the next; without an outcome, that the target no longer exists. */
export async function settle(parts: Settling, job: HeldJob<Delivery>, outcome: Outcome | undefined): Promise<void> {
  if (outcome === undefined) return job.finish({ status: 'canceled' });
  const attempts = job.record.attempts + 1;
  const tried: Changes<Delivery> = { attempts, last: outcome.attempt };
  const delay = outcome.gone ? undefined : delayAfter(attempts, parts.random(), outcome.retryAfterMs);
  const also = (work: UnitOfWork, delivery: Delivery) => judge(parts, work, delivery, outcome);
  if (outcome.succeeded) await job.finish({ ...tried, status: 'delivered' }, also);
  else if (delay === undefined) await job.finish({ ...tried, status: 'failed' }, also);
  else await job.retryIn(delay, tried, also);
}

/** Updates the state of a target, and disables it if it is permanently failing. */
async function judge(
  { states, now, disabled }: Settling,
  work: UnitOfWork,
  delivery: Delivery,
  { succeeded, gone }: Outcome,
): Promise<void> {
  const { tenant, ownerId, targetId } = delivery;
  const id = targetStateId(ownerId, targetId);
  const before = await work.get(states, id);
  if (before?.disabled !== undefined) return;
  if (succeeded) {
    if (before !== undefined) work.remove(states, before);
    return;
  }
  const at = new Date(now()).toISOString();
  const failingSince = before?.failingSince ?? at;
  const isHopeless = now() - Date.parse(failingSince) >= FAILING_MS;
  const reason: DisabledReason | undefined = gone ? 'gone' : isHopeless ? 'failing' : undefined;
  if (before !== undefined && reason === undefined) return;
  const after = { id, tenant, ownerId, failingSince, ...(reason !== undefined && { disabled: { at, reason } }) };
  if (before === undefined) work.insert(states, after);
  else work.replace(states, before, after);
  if (reason !== undefined) await disabled(work, delivery, reason);
}
