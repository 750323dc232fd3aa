import { EventEmitter } from 'node:events';
import { silentLog } from '@commonplace/kit/log';
import { expect, test } from '@jest/globals';
import { followClock } from '../src/mongo/clock.js';

test("follows the primary's clock, and logs once that this process has another time", () => {
  const client = new EventEmitter();
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (event: string, fields?: object) => void lines.push([event, fields]) };
  const now = followClock(client as never, log);
  const ahead = (): number => Math.round((now() - Date.now()) / 1000);
  const beat = (seconds: number, more: object = { isWritablePrimary: true }) =>
    client.emit('serverHeartbeatSucceeded', {
      reply: { localTime: new Date(Date.now() + seconds * 1000), ...more },
    });
  expect(ahead()).toBe(0);
  beat(1);
  expect([ahead(), lines]).toEqual([1, []]);
  beat(-40);
  beat(-40);
  expect([ahead(), lines]).toEqual([-40, [['mongodb.clock_differs', { seconds: -40 }]]]);
  beat(500, { secondary: true });
  client.emit('serverHeartbeatSucceeded', { reply: { isWritablePrimary: true } });
  expect(ahead()).toBe(-40);
  beat(0);
  beat(10);
  expect([ahead(), lines.length]).toEqual([10, 2]);
});
