import { createHash } from 'node:crypto';
import { nextCronFire } from './cron.js';

/** When a schedule fires. Exactly one of `cron`, `intervalSeconds` and `runAt` is present. Times are RFC 3339. */
export interface Timing {
  readonly cron?: string | undefined;
  readonly intervalSeconds?: number | undefined;
  readonly runAt?: string | undefined;
  /** A name of the IANA database. */
  readonly timezone: string;
  /** There is no slot before it, and none after `endAt`. */
  readonly startAt?: string | undefined;
  readonly endAt?: string | undefined;
  /** An interval counts from `startAt`, and without one from here. */
  readonly createdAt: string;
  readonly jitterSeconds: number;
}

/** A time at which a schedule fires, in epoch milliseconds. */
export interface Slot {
  readonly scheduledFor: number;
  /** `scheduledFor` and the slot's share of the jitter. */
  readonly startsAt: number;
}

/** Jitter never takes a slot nearer than this to the next one, so that slots start in their order. */
const MIN_DISTANCE_MS = 1_000;

/** Returns the first slot after an instant; both are epoch milliseconds. Undefined where there is none. */
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

/** Returns the slots after one instant up to another, at most `limit`, in order. */
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

/** Returns the delay of a slot, in milliseconds: a hash of schedule and slot, so that it is the same on every server. */
function jitterMs(id: string, { jitterSeconds }: Timing, slot: number, next: number | undefined): number {
  const room = next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next - slot - MIN_DISTANCE_MS);
  const most = Math.min(jitterSeconds * 1000, room);
  if (most === 0) return 0;
  const hash = createHash('sha256').update(`${id} ${slot}`).digest().readUIntBE(0, 6);
  return hash % (most + 1);
}

/** Whether the server knows a time zone by its name in the IANA database. Offsets such as `+02:00` are none. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
