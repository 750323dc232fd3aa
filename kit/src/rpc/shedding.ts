import { AppError } from '../errors/index.js';
import { type Adder, counter, gauge } from '../telemetry/instruments.js';

/** Priority of a call under overload, most important first. Probes have none and are never refused. */
type LoadClass = 'read' | 'write' | 'background';

interface SheddingOptions {
  /** Maximum number of concurrent calls; 0 means no limit. */
  readonly maxConcurrent: number;
  /** Maximum sustained delay of the event loop in milliseconds; 0 means no limit. */
  readonly maxDelayMs: number;
}

/** Refuses calls for which there is no capacity, the least urgent first. */
export interface Capacity {
  /** Throws `service_unavailable` if there is no capacity for another call. */
  require(load: LoadClass): void;
  /** Counts a call until `leave`. */
  enter(): void;
  leave(): void;
}

/** Refuses work when a process is overloaded, the least urgent first. */
export interface Shedding extends Capacity {
  close(): void;
}

/** Share of the maximum concurrency that each class may use. */
const SHARE: Record<LoadClass, number> = { read: 1, write: 0.8, background: 0.5 };
/** Event loop delay at which each class is refused, as a multiple of that for background work. */
const PATIENCE: Record<LoadClass, number> = { read: 4, write: 2, background: 1 };
/**
 * Share of the maximum concurrency that calls to one other service may use while they wait for it. It is less than the
 * share of background work, so that a service that hangs leaves capacity for every class of what does not need it.
 */
const PEER_SHARE = 0.4;
const CLASSES = ['read', 'write', 'background'] as const;

const refused = counter(
  'load.shed',
  '{call}',
  'Calls and requests refused for overload, by their class and the sign of overload.',
);
const running = gauge('load.running', '{call}', 'Calls and requests in progress.');

const LOOK_MS = 50;
/**
 * Milliseconds during which the loop must be late at every measurement: a single long task is not overload, a
 * persistent queue is.
 */
const WINDOW_MS = 1000;
/** Maximum number of seconds after which a refused client should retry; the number is random. */
const MAX_RETRY_SECONDS = 3;

/**
 * Creates load shedding by two signs of overload: the number of concurrent calls, and the minimum delay of the event
 * loop within a second, which is how long its queue persists. A call costs an addition, a subtraction and two
 * comparisons.
 */
export function openShedding({ maxConcurrent, maxDelayMs }: SheddingOptions): Shedding {
  const room = roomOf(maxConcurrent);
  const limit = byClass((load) => (maxDelayMs === 0 ? Number.POSITIVE_INFINITY : maxDelayMs * PATIENCE[load]));
  const delay = maxDelayMs === 0 ? NO_DELAY : watchDelay();
  let calls = 0;
  const count = { calls: seriesBy('calls'), delay: seriesBy('delay') };
  const unobserve = running.observe(() => [{ attributes: {}, value: calls }]);
  return {
    require(load) {
      const sign = calls >= room[load] ? 'calls' : delay.least > limit[load] ? 'delay' : undefined;
      if (sign === undefined) return;
      count[sign][load].add();
      throw overloaded();
    },
    enter() {
      calls++;
    },
    leave() {
      calls--;
    },
    close: () => {
      unobserve();
      delay.close();
    },
  };
}

/**
 * Creates the capacity for the calls of this process to one other service, of a process with `maxConcurrent`. Without
 * it, a service that hangs would take up all the calls that this process may have in progress, and with them the
 * capacity for requests that do not need it.
 */
export function createPeerCapacity(maxConcurrent: number): Capacity {
  const room = roomOf(maxConcurrent * PEER_SHARE);
  const count = seriesBy('peer');
  let calls = 0;
  return {
    require(load) {
      if (calls < room[load]) return;
      count[load].add();
      throw overloaded();
    },
    enter() {
      calls++;
    },
    leave() {
      calls--;
    },
  };
}

/** Returns how many calls each class may have in progress; 0 means no limit. */
function roomOf(maxConcurrent: number): Record<LoadClass, number> {
  return byClass((load) => (maxConcurrent === 0 ? Number.POSITIVE_INFINITY : maxConcurrent * SHARE[load]));
}

interface Delay {
  /** Minimum delay of the last whole second, or a later delay that is smaller. */
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

function seriesBy(sign: string): Record<LoadClass, Adder> {
  return byClass((load) => refused.bind({ 'load.class': load, 'load.sign': sign }));
}

function byClass<T>(value: (load: LoadClass) => T): Record<LoadClass, T> {
  return Object.fromEntries(CLASSES.map((load) => [load, value(load)])) as Record<LoadClass, T>;
}

function overloaded(): AppError {
  const retryAfter = Math.ceil(Math.random() * MAX_RETRY_SECONDS) || 1;
  const message = 'The server is overloaded. The request was not carried out; try again shortly.';
  return new AppError('UNAVAILABLE', 'service_unavailable', message, { details: { reason: 'overloaded' }, retryAfter });
}
