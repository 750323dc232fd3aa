import { expect, test } from '@jest/globals';
import { cronFault, nextCronFire } from '../src/schedules/cron.js';
import { type Oracle, openOracle } from './dst-oracle.js';

/**
 * Compares all fires around every change of the clock with those of the oracle. `COMMONPLACE_DST_FULL=1` takes 60 zones, 3 years
 * and 200 patterns, and five minutes of a processor; `1/12` to `12/12` take a twelfth of the zones each. Without it a sample is taken.
 */
const FULL = process.env.COMMONPLACE_DST_FULL;
const IS_FULL = FULL !== undefined && FULL !== '';
const DAY_MS = 86_400_000;

const ZONES = [
  ...['Europe/Berlin', 'Australia/Lord_Howe', 'America/New_York', 'Africa/Casablanca', 'America/Havana', 'Asia/Beirut'],
  ...['Antarctica/Troll', 'Pacific/Chatham', 'America/St_Johns', 'Africa/Cairo', 'Europe/Dublin', 'America/Santiago'],
  ...['Pacific/Easter', 'Atlantic/Azores', 'America/Nuuk', 'America/Scoresbysund', 'Asia/Gaza', 'Asia/Hebron'],
  ...[
    'Africa/El_Aaiun',
    'America/Asuncion',
    'Australia/Adelaide',
    'Australia/Sydney',
    'Australia/Hobart',
    'Pacific/Auckland',
  ],
  ...['Pacific/Norfolk', 'Asia/Jerusalem', 'Europe/London', 'Europe/Lisbon', 'Europe/Chisinau', 'Europe/Kyiv'],
  ...['Europe/Athens', 'Europe/Helsinki', 'Europe/Madrid', 'Europe/Paris', 'Europe/Rome', 'Europe/Warsaw'],
  ...['Asia/Nicosia', 'Atlantic/Bermuda', 'Atlantic/Canary', 'Atlantic/Faroe', 'Atlantic/Madeira', 'America/Chicago'],
  ...[
    'America/Denver',
    'America/Los_Angeles',
    'America/Anchorage',
    'America/Adak',
    'America/Halifax',
    'America/Miquelon',
  ],
  ...[
    'America/Thule',
    'America/Tijuana',
    'America/Port-au-Prince',
    'America/Nassau',
    'Antarctica/McMurdo',
    'Arctic/Longyearbyen',
  ],
  ...['UTC', 'Asia/Kolkata', 'Asia/Kathmandu', 'Asia/Tokyo', 'America/Sao_Paulo', 'Australia/Brisbane'],
];
const YEARS = [2025, 2026, 2027];

const KNOWN = [
  ...[
    '15,30,45 2 * * *',
    '30 2 * * *',
    '*/20 2 * * *',
    '0 * * * *',
    '* 2 * * *',
    '0 0 * * *',
    '0 0-4 * * *',
    '30 1-3 * * 0',
  ],
  ...[
    '*/15 * * * *',
    '0 3 * * 7',
    '0,30 0,1,2,3 * * SUN',
    '59 23 L * *',
    '0 2 L * SUN',
    '5 1 * * SUN#2',
    '10 2 29 3 SUNL',
  ],
  ...[
    '0 1 1 4,10 *',
    '45 23 * * SAT',
    '0 12 15 * FRI',
    '7 */6 * * MON-FRI',
    '0 0 29 2 *',
    '* * * * *',
    '17 1,2,3 * MAR,OCT,NOV *',
  ],
];

/** Returns the zones to compare. */
function zonesToCompare(): string[] {
  if (!IS_FULL) return ['America/Nuuk', ...ZONES.slice(0, 8)];
  const [part = 1, parts = 1] = FULL.split('/').map(Number);
  return ZONES.filter((_, at) => at % parts === part - 1);
}

/** Returns numbers within [0, below) that are the same each time. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function patterns(count: number): string[] {
  const random = createRandom(20_260_329);
  const pick = (...from: string[]) => from[random(from.length)] ?? '';
  const some = (max: number, most: number) =>
    [...new Set(Array.from({ length: 1 + random(most) }, () => random(max)))].join(',');
  const all = new Set(KNOWN);
  while (all.size < count) {
    const start = random(5);
    const minute = pick(
      some(60, 1),
      some(60, 3),
      `${random(30)}-${30 + random(30)}/${5 + random(20)}`,
      `*/${5 + random(40)}`,
      '0',
    );
    const hour = pick(
      String(random(5)),
      some(5, 3),
      `${start}-${start + random(5)}`,
      `*/${1 + random(8)}`,
      '*',
      some(24, 2),
    );
    const day = pick('*', '*', '*', some(28, 2).replace(/\b0\b/g, '31'), 'L', `${25 + random(7)}`);
    const month = pick('*', '*', 'MAR,APR,SEP,OCT,NOV', '3-11', `*/${1 + random(3)}`);
    const week = pick('*', '*', 'SUN', '0', '7', 'SAT,SUN', '5-7', `SUN#${1 + random(4)}`, 'SUNL', 'MON-FRI');
    all.add([minute, hour, day, month, week].join(' '));
  }
  return [...all].slice(0, count);
}

/** Returns the windows of a year in which a pattern is compared: around each transition, and one without. */
function windowsOf(pattern: string, year: number, oracle: Oracle): [number, number][] {
  const from = Date.UTC(year, 0, 1);
  const to = Date.UTC(year + 1, 0, 1);
  const day = oracle.fires(pattern.replace(/ \S+ \S+ \S+$/, ' * * *'), from + DAY_MS, from + 2 * DAY_MS).length;
  const half = Math.min(4, Math.max(0.15, 20 / Math.max(1, day))) * DAY_MS;
  const isRare = !pattern.endsWith('* * *') && day <= 3 && oracle.fires(pattern, from, from + 60 * DAY_MS).length < 20;
  const around = oracle
    .transitions(from + 5 * DAY_MS, to - 5 * DAY_MS)
    .map((at): [number, number] => [at - half, at + half]);
  return isRare ? [[from, to]] : [...around, [from + 40 * DAY_MS, from + 40 * DAY_MS + half / 2]];
}

function firesOf(pattern: string, zone: string, from: number, to: number): number[] {
  const fires: number[] = [];
  let at = nextCronFire(pattern, zone, from - 1);
  while (at !== undefined && at < to) {
    fires.push(at);
    at = nextCronFire(pattern, zone, at);
  }
  return fires;
}

test('a pattern fires when the oracle says, in every zone, around every clock change', () => {
  const zones = zonesToCompare();
  const years = IS_FULL ? YEARS : [2026];
  const all = patterns(IS_FULL ? 200 : 40);
  const differences: string[] = [];
  let compared = 0;
  for (const zone of zones) {
    const oracle = openOracle(zone, Date.UTC(2025, 0, 1), Date.UTC(2028, 0, 1));
    for (const pattern of all) {
      for (const year of years) {
        for (const [from, to] of windowsOf(pattern, year, oracle)) {
          const wanted = oracle.fires(pattern, from, to);
          const got = firesOf(pattern, zone, from, to);
          compared += wanted.length;
          if (wanted.join() !== got.join()) differences.push(describe(zone, pattern, wanted, got));
        }
      }
    }
  }
  process.stdout.write(
    `${zones.length} zones × ${years.length} years × ${all.length} patterns: ${compared} fires, ${differences.length} differences\n`,
  );
  expect(differences.slice(0, 20)).toEqual([]);
  expect(compared).toBeGreaterThan(zones.length * all.length);
}, 3_600_000);

function describe(zone: string, pattern: string, wanted: readonly number[], got: readonly number[]): string {
  const missing = wanted.filter((at) => !got.includes(at)).map((at) => `-${new Date(at).toISOString()}`);
  const extra = got.filter((at) => !wanted.includes(at)).map((at) => `+${new Date(at).toISOString()}`);
  return `${zone} ${pattern}: ${[...missing, ...extra].slice(0, 4).join(' ')}`;
}

test('all compared patterns are valid', () => {
  const faults = patterns(200).map((pattern) => cronFault(pattern, 'Europe/Berlin', Date.UTC(2026, 0, 1)));
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
});
