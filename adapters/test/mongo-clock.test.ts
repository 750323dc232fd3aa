import { EventEmitter } from 'node:events';
import { silentLog } from '@commonplace/kit/log';
import { beforeEach, expect, test } from '@jest/globals';
import { followClock } from '../src/mongo/clock.js';

let client: EventEmitter;
let lines: unknown[];
let ahead: () => number;

beforeEach(() => {
  client = new EventEmitter();
  lines = [];
  const log = { ...silentLog, warn: (event: string, fields?: object) => void lines.push([event, fields]) };
  const now = followClock(client as never, log);
  // Between the two readings a millisecond may pass, which rounds to -0.
  ahead = () => Math.round((now() - Date.now()) / 1000) + 0;
});

/** Delivers a heartbeat of a server whose clock is ahead of this process. */
function beat(seconds: number, more: object = { isWritablePrimary: true }): void {
  const localTime = new Date(Date.now() + seconds * 1000);
  client.emit('serverHeartbeatSucceeded', { reply: { localTime, ...more } });
}

test("follows the primary's clock, and logs once that this process has another time", () => {
  expect(ahead()).toBe(0);
  for (let i = 0; i < 6; i++) beat(-40);
  expect([ahead(), lines]).toEqual([-40, [['mongodb.clock_differs', { seconds: -40 }]]]);
  beat(500, { secondary: true });
  client.emit('serverHeartbeatSucceeded', { reply: { isWritablePrimary: true } });
  expect(ahead()).toBe(-40);
  beat(0);
  beat(10);
  expect([ahead(), lines.length]).toEqual([10, 2]);
});

test('is not misled by heartbeats that a busy process reads late, or by small differences', () => {
  beat(-0.02);
  beat(-4);
  beat(-0.5);
  expect(ahead()).toBe(0);
  beat(3);
  beat(-2);
  expect(ahead()).toBe(3);
  for (let i = 0; i < 6; i++) beat(0.4);
  expect([ahead(), lines]).toEqual([0, []]);
});
