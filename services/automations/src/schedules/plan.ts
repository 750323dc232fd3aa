import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { missedEvent } from './events.js';
import { doneFire, newFire, unheld, unstartedFires } from './fires.js';
import { bySystem, type Pair, readPair, type ScheduleParts, savePair, timestamp } from './parts.js';
import { type FireOutcome, type FireRecord, type ScheduleRecord, UNSTARTED_STATES } from './records.js';
import { nextSlot, type Slot, slotsAfter } from './slots.js';

/** Minimum time that a slot is written before it is due. Each planning writes the slots of the next `HORIZON_MS`. */
const PLANNING_LEAD_MS = 180_000;
const HORIZON_MS = 360_000;
/** A fire that has not started this long after its time counts as missed, and the catch-up setting applies. */
export const LATE_MS = 30_000;
/** Maximum number of slots in one unit of work; each takes up to a third of a millisecond. */
const MAX_SLOTS = 40;
/** Maximum number of fires that `catchup: all` starts. */
const MAX_CAUGHT_UP = 100;
/** The longest catch-up window. Slots missed before it share one record. */
const MAX_WINDOW_MS = 7 * 86_400_000;

/** A missed slot, with its record if it was written ahead. */
interface MissedSlot extends Slot {
  readonly fire?: FireRecord;
}

/** Makes the queue look soon at a schedule that gets an agent, which may have been deleted since it was looked up. */
export function lookSoon({ schedule, state }: Pair, now: number): Pair {
  return schedule.targetType === 'agent'
    ? { schedule, state: { ...state, planAt: timestamp(now) } }
    : { schedule, state };
}

/** Decides missed slots of an active schedule and writes the next ones ahead, in a unit of work of its own. */
export async function advanceSchedule(parts: ScheduleParts, scheduleId: string): Promise<void> {
  await inWork(parts.store, async (work) => {
    const before = await readPair(parts, work, scheduleId);
    if (before === undefined || before.schedule.status !== 'active') return;
    savePair(parts, work, before, await advance(parts, work, before, parts.now()));
  });
}

/**
 * Decides slots that were missed while no process was running, and writes those of the next minutes ahead. Returns the
 * schedule as the unit of work leaves it. After a long outage it is due again at once, to decide the remaining slots.
 */
export async function advance(parts: ScheduleParts, work: UnitOfWork, before: Pair, now: number): Promise<Pair> {
  const { schedule } = before;
  const overdue = await overdueFires(parts, work, schedule, now);
  const lookback = overdue.length < MAX_SLOTS ? MAX_SLOTS - overdue.length : 0;
  const passed = slotsAfter(
    schedule.id,
    schedule.timing,
    Date.parse(before.state.plannedUntil),
    now - LATE_MS,
    lookback,
  );
  const missed: MissedSlot[] = [...overdue, ...passed.filter(({ startsAt }) => isLate(startsAt, now))];
  const isLast = overdue.length + passed.length < MAX_SLOTS;
  const { starting, ...caught } = await catchUp(parts, work, before, missed, isLast, now);
  const until = passed.at(-1)?.scheduledFor ?? Date.parse(before.state.plannedUntil);
  const delayed = passed.filter(({ startsAt }) => !isLate(startsAt, now));
  for (const slot of delayed) await writeAhead(parts, work, schedule, slot);
  if (!isLast) return { schedule, state: { ...caught.state, plannedUntil: timestamp(until), planAt: timestamp(now) } };
  const planned = { schedule, state: { ...caught.state, plannedUntil: timestamp(until) } };
  return planAhead(parts, work, planned, now, starting + delayed.length);
}

const isLate = (startsAt: number, now: number): boolean => startsAt <= now - LATE_MS;

async function overdueFires(
  parts: ScheduleParts,
  work: UnitOfWork,
  { id: scheduleId }: ScheduleRecord,
  now: number,
): Promise<MissedSlot[]> {
  const where = { scheduleId, state: 'pending', scheduledFor: { lte: timestamp(now - LATE_MS) } };
  const found = await parts.fires.find({ where, sort: ['scheduledFor'], limit: MAX_SLOTS });
  const slots: MissedSlot[] = [];
  for (const { id } of found) {
    const fire = await work.get(parts.fires, id);
    if (fire?.state !== 'pending' || fire.isManual || fire.isCatchup) continue;
    const startsAt = Date.parse(fire.startsAt);
    if (isLate(startsAt, now)) slots.push({ scheduledFor: Date.parse(fire.scheduledFor), startsAt, fire });
  }
  return slots;
}

// ---- missed slots

/** Decides missed slots. Returns the schedule after that, and the number of slots that are started now. */
async function catchUp(
  parts: ScheduleParts,
  work: UnitOfWork,
  { schedule, state }: Pair,
  missed: readonly MissedSlot[],
  isLast: boolean,
  now: number,
): Promise<Pair & { readonly starting: number }> {
  let { caughtUp } = state;
  const lost: MissedSlot[] = [];
  const ancient: MissedSlot[] = [];
  for (const [at, slot] of missed.entries()) {
    const isNewest = isLast && at === missed.length - 1;
    const outcome = outcomeOf(schedule, slot, isNewest, caughtUp, now);
    if (outcome === undefined) {
      caughtUp++;
      await writeFire(parts, work, schedule, slot, (fire) => ({
        ...{ ...fire, ...unheld(fire), isCatchup: true, dueAt: timestamp(now + at) },
      }));
    } else if (slot.fire === undefined && slot.scheduledFor < now - MAX_WINDOW_MS) ancient.push(slot);
    else await writeFire(parts, work, schedule, slot, (fire) => doneFire(parts, fire, now, { outcome }));
    if (outcome === 'missed') lost.push(slot);
  }
  await writeAncient(parts, work, schedule, ancient, now);
  const last = lost.at(-1);
  if (last !== undefined) work.publish(missedEvent(schedule, timestamp(last.scheduledFor), lost.length));
  return {
    ...{ schedule, starting: caughtUp - state.caughtUp },
    state: { ...state, caughtUp: isLast ? 0 : caughtUp, missedCount: state.missedCount + lost.length },
  };
}

/** Returns the outcome of a missed slot; undefined if it is started now. */
function outcomeOf(
  { catchup, catchupWindowSeconds }: ScheduleRecord,
  { startsAt }: Slot,
  isNewest: boolean,
  caughtUp: number,
  now: number,
): FireOutcome | undefined {
  if (catchup === 'none' || startsAt < now - catchupWindowSeconds * 1000) return 'missed';
  if (catchup === 'latest') return isNewest ? undefined : 'coalesced';
  return caughtUp < MAX_CAUGHT_UP ? undefined : 'missed';
}

/** Records slots that were missed long ago in one record. */
async function writeAncient(
  parts: ScheduleParts,
  work: UnitOfWork,
  schedule: ScheduleRecord,
  slots: readonly MissedSlot[],
  now: number,
): Promise<void> {
  const [first] = slots;
  const last = slots.at(-1);
  if (first === undefined || last === undefined) return;
  const reason = `${slots.length} slots up to ${timestamp(last.scheduledFor)} were missed`;
  await writeFire(parts, work, schedule, first, (fire) => doneFire(parts, fire, now, { outcome: 'missed', reason }));
}

// ---- future slots

/**
 * Writes the slots of the next minutes ahead. `unstarted` is the number of fires that the unit of work has written before
 * and that have still to start.
 */
export async function planAhead(
  parts: ScheduleParts,
  work: UnitOfWork,
  { schedule, state }: Pair,
  now: number,
  unstarted = 0,
): Promise<Pair> {
  const { id, timing } = schedule;
  const from = Date.parse(state.plannedUntil);
  const slots = slotsAfter(id, timing, from, now + HORIZON_MS, MAX_SLOTS);
  for (const slot of slots) await writeAhead(parts, work, schedule, slot);
  const until = slots.at(-1)?.scheduledFor ?? from;
  const next = nextSlot(timing, until);
  const planned = { ...state, plannedUntil: timestamp(until), tzVersion: parts.tzVersion };
  if (next === undefined) {
    const over = { schedule, state: { ...planned, planAt: undefined } };
    return unstarted + slots.length > 0 ? over : completeIfOver(parts, work, over, now);
  }
  return { schedule, state: { ...planned, planAt: timestamp(Math.max(next - PLANNING_LEAD_MS, now + 1_000)) } };
}

/** Completes a schedule without further slots, unless one of its fires has still to start. */
export async function completeIfOver(
  { fires }: Pick<ScheduleParts, 'fires'>,
  work: UnitOfWork,
  { schedule, state }: Pair,
  now: number,
): Promise<Pair> {
  if (schedule.status !== 'active') return { schedule, state };
  if (nextSlot(schedule.timing, Date.parse(state.plannedUntil)) !== undefined) return { schedule, state };
  for (const { id } of await unstartedFires({ fires }, schedule.id)) {
    const fire = await work.get(fires, id);
    if (fire !== undefined && !fire.isManual && UNSTARTED_STATES.includes(fire.state)) return { schedule, state };
  }
  return completed({ schedule, state }, now);
}

/** Returns a schedule in the state `completed`. */
export const completed = ({ schedule, state }: Pair, now: number): Pair => ({
  schedule: { ...schedule, status: 'completed', ...bySystem(now) },
  state: { ...state, planAt: undefined },
});

const writeAhead = (parts: ScheduleParts, work: UnitOfWork, schedule: ScheduleRecord, slot: Slot): Promise<void> =>
  writeFire(parts, work, schedule, slot, (fire) => fire);

/** Writes the record of a slot. A slot that has a record already keeps it, so that no slot fires twice. */
async function writeFire(
  parts: ScheduleParts,
  work: UnitOfWork,
  schedule: ScheduleRecord,
  slot: MissedSlot,
  change: (fire: Omit<FireRecord, 'version'>) => Omit<FireRecord, 'version'>,
): Promise<void> {
  if (slot.fire !== undefined) {
    work.replace(parts.fires, slot.fire, change(slot.fire));
    return;
  }
  const fire = newFire(schedule, slot);
  const there = await work.get(parts.fires, fire.id);
  if (there === undefined) work.insert(parts.fires, change(fire));
}

/**
 * Records that the only slot of a schedule has passed while the schedule was paused. Slots of other schedules come again, so
 * these go on with the next one and record nothing.
 */
async function missSingleSlot(parts: ScheduleParts, work: UnitOfWork, pair: Pair, now: number): Promise<Pair> {
  const { schedule, state } = pair;
  const { runAt } = schedule.timing;
  const slot = runAt === undefined ? undefined : nextSlot(schedule.timing, Date.parse(runAt) - 1);
  if (slot === undefined || slot > now) return pair;
  const fire = newFire(schedule, { scheduledFor: slot, startsAt: slot });
  if ((await work.get(parts.fires, fire.id)) !== undefined) return pair;
  work.insert(parts.fires, doneFire(parts, fire, now, { outcome: 'missed', reason: 'the schedule was paused' }));
  work.publish(missedEvent(schedule, fire.scheduledFor, 1));
  return { schedule, state: { ...state, missedCount: state.missedCount + 1 } };
}

/**
 * Updates the fires that were written ahead to the current schedule: it removes those of slots that no longer exist,
 * and corrects the start of the others.
 */
export async function planAnew(parts: ScheduleParts, work: UnitOfWork, before: Pair, now: number): Promise<Pair> {
  const { schedule, state } = await missSingleSlot(parts, work, before, now);
  const slots = slotsAfter(schedule.id, schedule.timing, now, now + HORIZON_MS, MAX_SLOTS);
  const wanted = new Map(slots.map((slot) => [timestamp(slot.scheduledFor), slot]));
  for (const { id } of await unstartedFires(parts, schedule.id)) {
    const fire = await work.get(parts.fires, id);
    if (fire?.state !== 'pending' || fire.isManual || Date.parse(fire.scheduledFor) <= now) continue;
    const slot = wanted.get(fire.scheduledFor);
    if (slot === undefined) work.remove(parts.fires, fire);
    else {
      const startsAt = timestamp(slot.startsAt);
      if (startsAt !== fire.startsAt) work.replace(parts.fires, fire, { ...fire, startsAt, dueAt: startsAt });
    }
  }
  return planAhead(parts, work, { schedule, state: { ...state, plannedUntil: timestamp(now) } }, now);
}
