import { jest } from '@jest/globals';

/** All that can be played but `Date`. */
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

/** Moves the clock by some milliseconds and stops it there, and nothing but the clock; until `jest.useRealTimers()`. */
export function playClock(afterMs = 0): void {
  jest.useFakeTimers({ doNotFake: [...EVERYTHING_ELSE], now: Date.now() + afterMs });
}
