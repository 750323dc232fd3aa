import type { Changes, HeldJob } from '@commonplace/kit/jobs';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import { type Adder, counter } from '@commonplace/kit/telemetry';
import type { Outcome } from './attempt.js';
import { type Delivery, type DisabledReason, type TargetState, targetStateId } from './records.js';
import { delayAfter, FAILING_MS } from './schedule.js';

const attempts = counter(
  'webhook.attempts',
  '{attempt}',
  'Attempts to deliver a webhook, by what became of the delivery.',
);
const disabledTargets = counter(
  'webhook.disabled',
  '{target}',
  'Targets of webhooks that were disabled because they are gone or keep failing.',
);
const disabledBy: Readonly<Record<DisabledReason, Adder>> = {
  gone: disabledTargets.bind({ reason: 'gone' }),
  failing: disabledTargets.bind({ reason: 'failing' }),
};
const countOf = (outcome: string) => attempts.bind({ 'webhook.outcome': outcome });
const counts = {
  ...{ delivered: countOf('delivered'), failed: countOf('failed'), canceled: countOf('canceled') },
  retried: countOf('retried'),
};

export interface OutcomeParts {
  readonly states: Collection<TargetState>;
  readonly now: () => number;
  readonly random: () => number;
  disabled(work: UnitOfWork, delivery: Delivery, reason: DisabledReason): Promise<void>;
}

/**
 * Records the outcome of an attempt and schedules the next one. Without an outcome, records that the target no longer
 * exists.
 */
export async function recordOutcome(
  parts: OutcomeParts,
  job: HeldJob<Delivery>,
  outcome: Outcome | undefined,
): Promise<void> {
  if (outcome === undefined) {
    await job.finish({ status: 'canceled' });
    counts.canceled.add();
    return;
  }
  const number = job.record.attempts + 1;
  const tried: Changes<Delivery> = { attempts: number, last: outcome.attempt };
  const delay = outcome.gone ? undefined : delayAfter(number, parts.random(), outcome.retryAfterMs);
  const also = (work: UnitOfWork, delivery: Delivery) => judge(parts, work, delivery, outcome);
  if (outcome.succeeded) await job.finish({ ...tried, status: 'delivered' }, also);
  else if (delay === undefined) await job.finish({ ...tried, status: 'failed' }, also);
  else await job.retryIn(delay, tried, also);
  counts[outcome.succeeded ? 'delivered' : delay === undefined ? 'failed' : 'retried'].add();
}

/** Updates the state of a target, and disables it if it is permanently failing. */
async function judge(
  { states, now, disabled }: OutcomeParts,
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
  if (reason === undefined) return;
  await disabled(work, delivery, reason);
  disabledBy[reason].add();
}
