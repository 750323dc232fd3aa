import { createHash } from 'node:crypto';
import { nextCronFire } from './cron.js';

/** The timing of a schedule. Exactly one of `cron`, `intervalSeconds` and `runAt` is present. Times are RFC 3339. */
export interface Timing {
  readonly cron?: string | undefined;
  readonly intervalSeconds?: number | undefined;
  readonly runAt?: string | undefined;
  /** A name in the IANA database. */
  readonly timezone: string;
  /** There is no slot before `startAt`, and none after `endAt`. */
  readonly startAt?: string | undefined;
  readonly endAt?: string | undefined;
  /** The origin of an interval without `startAt`. */
  readonly createdAt: string;
  readonly jitterSeconds: number;
}

/** A time at which a schedule fires, in epoch milliseconds. */
export interface Slot {
  readonly scheduledFor: number;
  /** `scheduledFor` plus the jitter of the slot. */
  readonly startsAt: number;
}

/** Minimum distance of a delayed slot from the next one, so that slots start in order. */
const MIN_DISTANCE_MS = 1_000;

/** Returns the first slot after an instant; both are epoch milliseconds. Returns undefined if there is none. */
export function nextSlot(timing: Timing, after: number): number | undefined {
  const from = timing.startAt === undefined ? after : Math.max(after, Date.parse(timing.startAt) - 1);
  const slot = nextUnbounded(timing, from);
  if (slot === undefined || (timing.endAt !== undefined && slot > Date.parse(timing.endAt))) return undefined;
  return slot;
}

function nextUnbounded({ cron, timezone, intervalSeconds, runAt, startAt, createdAt }: Timing, after: number) {
  if (cron !== undefined) return nextCronFire(cron, timezone, after);
  if (intervalSeconds === undefined) {
    const at = Date.parse(runAt ?? '');
    return at > after ? at : undefined;
  }
  const start = Date.parse(startAt ?? createdAt);
  const period = intervalSeconds * 1000;
  return after < start ? start : start + (Math.floor((after - start) / period) + 1) * period;
}

/** Returns the slots after `after` up to `upTo`, at most `limit`, in order. */
export function slotsAfter(id: string, timing: Timing, after: number, upTo: number, limit: number): Slot[] {
  const slots: Slot[] = [];
  let slot = nextSlot(timing, after);
  while (slot !== undefined && slot <= upTo && slots.length < limit) {
    const next = nextSlot(timing, slot);
    slots.push({ scheduledFor: slot, startsAt: slot + jitterMs(id, timing, slot, next) });
    slot = next;
  }
  return slots;
}

/**
 * Returns the delay of a slot in milliseconds. It is a hash of schedule and slot, so that every process computes the
 * same.
 */
function jitterMs(id: string, { jitterSeconds }: Timing, slot: number, next: number | undefined): number {
  const room = next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next - slot - MIN_DISTANCE_MS);
  const most = Math.min(jitterSeconds * 1000, room);
  if (most === 0) return 0;
  const hash = createHash('sha256').update(`${id} ${slot}`).digest().readUIntBE(0, 6);
  return hash % (most + 1);
}
