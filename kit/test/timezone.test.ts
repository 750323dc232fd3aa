import { expect, test } from '@jest/globals';
import { canonicalTimezone } from '../src/timezone/index.js';

test.each([
  ['Europe/Zurich', 'Europe/Zurich'],
  ['europe/berlin', 'Europe/Berlin'],
  ['AMERICA/PORT-AU-PRINCE', 'America/Port-au-Prince'],
  ['utc', 'UTC'],
  // Names that this process knows as aliases of others.
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['asia/ho_chi_minh', 'Asia/Ho_Chi_Minh'],
  ['america/argentina/buenos_aires', 'America/Argentina/Buenos_Aires'],
  ['etc/gmt+5', 'Etc/GMT+5'],
  ['etc/utc', 'Etc/UTC'],
  ['us/eastern', 'US/Eastern'],
  ['est5edt', 'EST5EDT'],
  ['gmt+0', 'GMT+0'],
  ['antarctica/mcmurdo', 'Antarctica/McMurdo'],
  ['Mars/Olympus', undefined],
  ['+02:00', undefined],
  ['', undefined],
])('the time zone %p is spelled %p', (name, spelled) => {
  expect(canonicalTimezone(name)).toBe(spelled);
});
