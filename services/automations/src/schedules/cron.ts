import { toInstant, toLocal } from '@commonplace/kit/zones';
import { Cron } from 'croner';

/** Maximum number of years until the first fire of a pattern. February 29 occurs at least every eight years. */
const MAX_WAIT_YEARS = 8;
const YEAR_MS = 366 * 86_400_000;
const MAX_KEPT = 2_000;

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
};

/** Cache of parsed patterns by zone and text, least recently used first. */
const parsed = new Map<string, Cron>();

/**
 * Returns the first fire of a pattern after an instant; both are epoch milliseconds. Returns undefined if there is
 * none. A pattern without `*` and steps in minute and hour names fixed times of day: times skipped by a clock change
 * become one fire at the first moment after it, and of a repeated hour the first one counts. All other patterns follow
 * real time.
 */
export function nextCronFire(pattern: string, timezone: string, after: number): number | undefined {
  const [minute = '', hour = ''] = fieldsOf(pattern);
  if (/[*/]/.test(minute + hour)) return nextMatch(pattern, timezone, after);
  // croner loses a skipped time if the first moment after it is on a day that the pattern does not name, as in Nuuk,
  // where clocks go from 23:00 to 0:00. The times of day are therefore computed in UTC and then converted to the zone.
  let local: number | undefined = toLocal(timezone, after);
  for (;;) {
    local = nextMatch(pattern, 'UTC', local);
    if (local === undefined) return undefined;
    const instant = toInstant(timezone, local);
    if (instant > after) return instant;
  }
}

function nextMatch(pattern: string, timezone: string, after: number): number | undefined {
  return open(pattern, timezone).nextRun(new Date(after))?.getTime();
}

/** Returns the fault of a pattern, as the end of a sentence; undefined for a valid one. */
export function cronFault(pattern: string, timezone: string, now: number): string | undefined {
  const fields = fieldsOf(pattern);
  if (fields.length === 1) return 'must have five fields, or be @hourly, @daily, @weekly, @monthly or @yearly.';
  if (fields.length !== 5)
    return `must have five fields: minute, hour, day of month, month, day of week; it has ${fields.length}.`;
  if (/[?+~]/.test(pattern)) return 'must not contain ?, + or ~.';
  if (/w/i.test(fields[2] ?? '')) return 'must not use W in the day of month.';
  let first: number | undefined;
  try {
    first = nextCronFire(pattern, timezone, now);
  } catch (error) {
    return faultIn((error as Error).message.replace(/^CronPattern:\s*/, ''));
  }
  if (first === undefined || first > now + MAX_WAIT_YEARS * YEAR_MS)
    return 'must name a date within the next eight years.';
  return undefined;
}

/** What a value of a field is, by croner's name of the field. */
const VALUES: Readonly<Record<string, string>> = {
  minute: 'a minute',
  hour: 'an hour',
  day: 'a day of the month',
  month: 'a month',
  dayOfWeek: 'a day of the week',
};

/** Rewrites croner's message, which counts days and months from 0. */
function faultIn(message: string): string {
  const value = VALUES[/^Invalid value for (\w+)/.exec(message)?.[1] ?? ''];
  return value === undefined
    ? `cannot be read: ${message.slice(0, 200).replace(/\.+$/, '')}.`
    : `has a value that is not ${value}.`;
}

/**
 * Returns the shortest interval in seconds between two times of day of a valid pattern, also across midnight. It
 * ignores which days the pattern names.
 */
export function minPeriodSeconds(pattern: string): number {
  const [minute = '*', hour = '*'] = fieldsOf(pattern);
  const hours = valuesOf(hour, 23);
  const times = hours.flatMap((one) => valuesOf(minute, 59).map((at) => one * 60 + at)).sort((a, b) => a - b);
  const first = times[0] ?? 0;
  const gaps = times.map((time, at) => (times[at + 1] ?? first + 24 * 60) - time);
  return Math.min(...gaps) * 60;
}

/** Returns the values of a field of minutes or hours, which consists of digits and `* , - /`. */
function valuesOf(field: string, max: number): number[] {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '*', step = '1'] = part.split('/');
    const [from, to = from] = range === '*' ? [0, max] : range.split('-').map(Number);
    for (let value = from ?? 0; value <= (to ?? max); value += Number(step)) values.add(value);
  }
  return [...values];
}

const fieldsOf = (pattern: string): string[] =>
  (NICKNAMES[pattern.trim().toLowerCase()] ?? pattern).trim().split(/\s+/);

function open(pattern: string, timezone: string): Cron {
  const key = `${timezone}\n${pattern}`;
  const known = parsed.get(key);
  // These options are required: by default croner accepts six fields, and skips days on which the clock changes.
  const cron =
    known ??
    new Cron(fieldsOf(pattern).join(' '), { mode: '5-part', fixedTimeRule: 'no-wildcard', timezone, paused: true });
  parsed.delete(key);
  parsed.set(key, cron);
  if (parsed.size > MAX_KEPT) parsed.delete(parsed.keys().next().value as string);
  return cron;
}
