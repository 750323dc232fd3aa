import { AppError } from '../errors/index.js';

/** What is done first when there is too much of it, in this order. Probes are none of these: nobody sheds them. */
export type LoadClass = 'read' | 'write' | 'background';

export interface SheddingOptions {
  /** Calls under way at the same time; 0: as many as come. */
  readonly maxConcurrent: number;
  /** Milliseconds that the event loop may be late all the time; 0: any. */
  readonly maxDelayMs: number;
}

/** Refuses work that a process has no room for, the least urgent first. */
export interface Shedding {
  /** Throws `service_unavailable` where there is no room for one more. */
  require(load: LoadClass): void;
  /** Counts a call until `leave`. */
  enter(): void;
  leave(): void;
  close(): void;
}

/** Of the room for reads, the part that the others may fill up. */
const SHARE: Record<LoadClass, number> = { read: 1, write: 0.8, background: 0.5 };
/** Of the delay that background work is refused at, how many times as much the others stand. */
const PATIENCE: Record<LoadClass, number> = { read: 4, write: 2, background: 1 };
const CLASSES = ['read', 'write', 'background'] as const;

const LOOK_MS = 50;
/** Milliseconds in which the loop has to be late each time: one long task is no overload, a queue that stands is. */
const WINDOW_MS = 1000;
/** Seconds after which a refused client comes again, at random up to so many. */
const MOST_RETRY_SECONDS = 3;

/**
 * Two signs of overload: calls under way, and the least delay of the event loop within a second, which is how long its
 * queue stands. A call costs an addition, a subtraction and two comparisons.
 */
export function openShedding({ maxConcurrent, maxDelayMs }: SheddingOptions): Shedding {
  const room = byClass((load) => (maxConcurrent === 0 ? Number.POSITIVE_INFINITY : maxConcurrent * SHARE[load]));
  const limit = byClass((load) => (maxDelayMs === 0 ? Number.POSITIVE_INFINITY : maxDelayMs * PATIENCE[load]));
  const delay = maxDelayMs === 0 ? NO_DELAY : watchDelay();
  let running = 0;
  return {
    require(load) {
      if (running >= room[load] || delay.least > limit[load]) throw overloaded();
    },
    enter() {
      running++;
    },
    leave() {
      running--;
    },
    close: () => delay.close(),
  };
}

interface Delay {
  /** The least delay of the last whole second, or a later one that is less. */
  readonly least: number;
  close(): void;
}

const NO_DELAY: Delay = { least: 0, close: () => {} };

function watchDelay(): Delay {
  let due = performance.now() + LOOK_MS;
  let began = performance.now();
  let least = Number.POSITIVE_INFINITY;
  const look = (): void => {
    const now = performance.now();
    const late = Math.max(0, now - due);
    due = now + LOOK_MS;
    least = Math.min(least, late);
    if (late < watched.least) watched.least = late;
    if (now - began < WINDOW_MS) return;
    watched.least = least;
    least = Number.POSITIVE_INFINITY;
    began = now;
  };
  const timer = setInterval(look, LOOK_MS).unref();
  const watched = { least: 0, close: () => clearInterval(timer) };
  return watched;
}

function byClass(value: (load: LoadClass) => number): Record<LoadClass, number> {
  return Object.fromEntries(CLASSES.map((load) => [load, value(load)])) as Record<LoadClass, number>;
}

function overloaded(): AppError {
  const retryAfter = Math.ceil(Math.random() * MOST_RETRY_SECONDS) || 1;
  const message = 'There is more to do than can be done right now. Nothing was done; try again shortly.';
  return new AppError('UNAVAILABLE', 'service_unavailable', message, { details: { reason: 'overloaded' }, retryAfter });
}
