import type { Collection, UnitOfWork } from '../store/port.js';
import type { Outcome } from './attempt.js';
import { type Delivery, type DisabledReason, type TargetState, targetStateId } from './records.js';
import { delayAfter, FAILING_MS } from './schedule.js';

export interface Settling {
  readonly deliveries: Collection<Delivery>;
  readonly states: Collection<TargetState>;
  readonly now: () => number;
  readonly random: () => number;
  disabled(work: UnitOfWork, delivery: Delivery, reason: DisabledReason): Promise<void>;
}

/** Writes down what came of an attempt, and when the next is; without an outcome, that there is no target any more. */
export async function settle(
  parts: Settling,
  work: UnitOfWork,
  { id }: Delivery,
  outcome: Outcome | undefined,
): Promise<void> {
  const { deliveries, now, random } = parts;
  const delivery = await work.get(deliveries, id);
  if (delivery === undefined || delivery.status !== 'pending') return;
  const { dueAt: _, ...ended } = delivery;
  if (outcome === undefined) {
    work.replace(deliveries, delivery, { ...ended, status: 'canceled' });
    return;
  }
  const attempts = delivery.attempts + 1;
  const tried = { ...ended, attempts, last: outcome.attempt };
  const delay = outcome.gone ? undefined : delayAfter(attempts, random(), outcome.retryAfterMs);
  if (outcome.succeeded) work.replace(deliveries, delivery, { ...tried, status: 'delivered' });
  else if (delay === undefined) work.replace(deliveries, delivery, { ...tried, status: 'failed' });
  else work.replace(deliveries, delivery, { ...tried, dueAt: new Date(now() + delay).toISOString() });
  await judge(parts, work, delivery, outcome);
}

/** Keeps account of how a target does, and switches it off when that is hopeless. */
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
