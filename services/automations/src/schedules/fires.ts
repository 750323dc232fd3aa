import type { UnitOfWork } from '@commonplace/kit/store';
import { type ScheduleParts, timestamp } from './parts.js';
import { type FireOutcome, type FireRecord, fireIdOf, type ScheduleRecord, UNSTARTED_STATES } from './records.js';
import type { Slot } from './slots.js';

type FireParts = Pick<ScheduleParts, 'fires' | 'keepMs'>;

/** Maximum number of fires of one schedule that have not started: those written ahead, and those that are caught up. */
const MAX_UNSTARTED = 500;

/** Returns the record of a future slot. */
export function newFire(
  { id, tenant, workspaceId, automationId }: ScheduleRecord,
  slot: Slot,
): Omit<FireRecord, 'version'> {
  const scheduledFor = timestamp(slot.scheduledFor);
  const startsAt = timestamp(slot.startsAt);
  return {
    ...{ id: fireIdOf(id, scheduledFor), tenant, workspaceId, scheduleId: id, scheduledFor, startsAt },
    ...{ state: 'pending', lane: automationId ?? id, dueAt: startsAt, isManual: false, isCatchup: false },
  };
}

/** Returns a fire in its final state. A worker that holds it loses its lease. */
export function doneFire<T extends Omit<FireRecord, 'version'>>(
  { keepMs }: Pick<ScheduleParts, 'keepMs'>,
  fire: T,
  now: number,
  fields: Partial<FireRecord>,
): T {
  return {
    ...fire,
    ...{ state: 'done', dueAt: undefined, launch: undefined, failures: undefined, waits: undefined, ...unheld(fire) },
    ...{ deleteAt: timestamp(now + keepMs), ...fields },
  };
}

/** Returns a lease without holder, which releases the fire. */
export const unheld = ({ lease }: Pick<FireRecord, 'lease'>): Pick<FireRecord, 'lease'> => ({
  lease: lease && { holder: '', epoch: lease.epoch },
});

/** Returns the fires of a schedule that have not started, oldest first. */
export function unstartedFires({ fires }: Pick<ScheduleParts, 'fires'>, scheduleId: string): Promise<FireRecord[]> {
  const where = { scheduleId, state: { in: UNSTARTED_STATES } };
  return fires.find({ where, sort: ['scheduledFor'], limit: MAX_UNSTARTED });
}

interface Withdrawal {
  readonly reason: string;
  /** The outcome of past slots; `missed` if it is absent. */
  readonly outcome?: FireOutcome;
  /** The id of a fire that the caller handles itself. */
  readonly except?: string | undefined;
  /** Whether the fires of future slots are kept. */
  readonly keepsFuture?: boolean;
}

/**
 * Withdraws the fires of a schedule that have not started, in a unit of work, except those of `trigger_now`. Past slots
 * stay on record with an outcome. Returns the number of past slots.
 */
export async function withdrawFires(
  parts: FireParts,
  work: UnitOfWork,
  scheduleId: string,
  now: number,
  { reason, outcome = 'missed', except, keepsFuture = false }: Withdrawal,
): Promise<number> {
  let past = 0;
  for (const { id } of await unstartedFires(parts, scheduleId)) {
    const fire = id === except ? undefined : await work.get(parts.fires, id);
    if (fire === undefined || fire.isManual || !UNSTARTED_STATES.includes(fire.state)) continue;
    const isFuture = Date.parse(fire.scheduledFor) > now;
    if (isFuture && !keepsFuture) work.remove(parts.fires, fire);
    if (isFuture) continue;
    work.replace(parts.fires, fire, doneFire(parts, fire, now, { outcome, reason }));
    past++;
  }
  return past;
}
