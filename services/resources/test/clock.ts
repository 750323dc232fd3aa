import { jest } from '@jest/globals';

/** Everything that Jest can fake except `Date`. */
const EVERYTHING_ELSE = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

/** Moves the clock by some milliseconds and stops it there until `jest.useRealTimers()`; fakes nothing else. */
export function playClock(afterMs = 0): void {
  jest.useFakeTimers({ doNotFake: [...EVERYTHING_ELSE], now: Date.now() + afterMs });
}
