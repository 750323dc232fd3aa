import { Temporal } from '@js-temporal/polyfill';

/**
 * Says when a cron pattern fires, by nothing but the rules of schedules and the transitions of a zone as Temporal knows them. It
 * shares no code with what it checks.
 */
export interface Oracle {
  /** Epoch milliseconds of all fires within [from, to). */
  fires(pattern: string, from: number, to: number): number[];
  /** Instants within [from, to) at which the clock changes. */
  transitions(from: number, to: number): number[];
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** From an instant on, the zone's offset in milliseconds. */
interface Era {
  readonly since: number;
  readonly offset: number;
}

export function openOracle(zone: string, from: number, to: number): Oracle {
  const eras = erasOf(zone, from - 3 * DAY_MS, to + 3 * DAY_MS);
  return {
    transitions: (start, end) =>
      eras
        .slice(1)
        .map(({ since }) => since)
        .filter((at) => at >= start && at < end),
    fires(pattern, start, end) {
      const rule = readPattern(pattern);
      const all = rule.isFixed ? fixedFires(rule, eras, start, end) : intervalFires(rule, eras, start, end);
      return [...new Set(all)].filter((at) => at >= start && at < end).sort((a, b) => a - b);
    },
  };
}

function erasOf(zone: string, from: number, to: number): Era[] {
  let at: Temporal.ZonedDateTime | null = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone);
  const eras: Era[] = [];
  let since = from;
  while (at !== null && since < to) {
    eras.push({ since, offset: at.offsetNanoseconds / 1e6 });
    at = at.getTimeZoneTransition('next');
    since = at?.epochMilliseconds ?? to;
  }
  return eras;
}

// ---- patterns

interface Rule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly isFixed: boolean;
  /** Whether a local date, as days since 1970, is one of the pattern's. */
  isDay(day: number): boolean;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

function readPattern(pattern: string): Rule {
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = pattern.split(' ');
  const months = listed(month, 1, 12, MONTHS, 1);
  const days = new Map<number, boolean>();
  const isDay = (day: number): boolean => {
    const date = Temporal.PlainDate.from('1970-01-01').add({ days: day });
    if (!months.has(date.month)) return false;
    const byMonth = dayOfMonth !== '*' && matchesDayOfMonth(dayOfMonth, date);
    const byWeek = dayOfWeek !== '*' && matchesDayOfWeek(dayOfWeek, date);
    return dayOfMonth === '*' && dayOfWeek === '*' ? true : byMonth || byWeek;
  };
  return {
    minutes: listed(minute, 0, 59, [], 0),
    hours: listed(hour, 0, 23, [], 0),
    isFixed: !/[*/]/.test(minute + hour),
    isDay(day) {
      const known = days.get(day) ?? isDay(day);
      days.set(day, known);
      return known;
    },
  };
}

function listed(field: string, min: number, max: number, names: readonly string[], first: number): Set<number> {
  const found = new Set<number>();
  const numberOf = (text: string) => {
    const name = names.indexOf(text.toLowerCase());
    return name < 0 ? Number(text) : name + first;
  };
  for (const part of field.split(',')) {
    const [range = '', every] = part.split('/');
    const [low, high] = range === '*' ? [min, max] : range.split('-').map(numberOf);
    const last = high ?? low ?? min;
    for (let value = low ?? min; value <= last; value += Number(every ?? 1)) found.add(value);
  }
  return found;
}

function matchesDayOfMonth(field: string, date: Temporal.PlainDate): boolean {
  return field
    .split(',')
    .some((part) => (part === 'L' ? date.day === date.daysInMonth : listed(part, 1, 31, [], 0).has(date.day)));
}

function matchesDayOfWeek(field: string, date: Temporal.PlainDate): boolean {
  const weekday = date.dayOfWeek % 7;
  const among = (text: string) => [...listed(text, 0, 7, DAYS, 0)].some((one) => one % 7 === weekday);
  return field.split(',').some((part) => {
    const [day = '', nth] = part.split('#');
    if (nth !== undefined) return among(day) && Math.ceil(date.day / 7) === Number(nth);
    if (part.endsWith('L')) return among(part.slice(0, -1)) && date.day + 7 > date.daysInMonth;
    return among(part);
  });
}

// ---- the two rules

/** Returns the fires of a pattern that follows real time, by the local time at each minute. */
function intervalFires(rule: Rule, eras: readonly Era[], from: number, to: number): number[] {
  const fires: number[] = [];
  for (const [at, { since, offset }] of eras.entries()) {
    const until = Math.min(to, eras[at + 1]?.since ?? to);
    for (let now = Math.ceil(Math.max(from, since) / MINUTE_MS) * MINUTE_MS; now < until; now += MINUTE_MS) {
      const local = now + offset;
      const ofDay = Math.floor((local % DAY_MS) / MINUTE_MS);
      if (!rule.minutes.has(ofDay % 60) || !rule.hours.has(Math.floor(ofDay / 60))) continue;
      if (rule.isDay(Math.floor(local / DAY_MS))) fires.push(now);
    }
  }
  return fires;
}

/** Returns the fires of a pattern that names fixed times of day, each once. */
function fixedFires(rule: Rule, eras: readonly Era[], from: number, to: number): number[] {
  const fires: number[] = [];
  for (let day = Math.floor(from / DAY_MS) - 1; day <= Math.floor(to / DAY_MS) + 1; day++) {
    if (!rule.isDay(day)) continue;
    for (const hour of rule.hours) {
      for (const minute of rule.minutes)
        fires.push(firstInstantOf(day * DAY_MS + (hour * 60 + minute) * MINUTE_MS, eras));
    }
  }
  return fires;
}

/** Returns when a clock first shows a local time, or the first moment after the gap that it falls into. */
function firstInstantOf(local: number, eras: readonly Era[]): number {
  for (const [at, { since, offset }] of eras.entries()) {
    const next = eras[at + 1];
    const instant = local - offset;
    const isShown = (at === 0 || instant >= since) && (next === undefined || instant < next.since);
    if (isShown) return instant;
    // The next transition skips the time.
    if (next !== undefined && instant >= next.since && local - next.offset < next.since) return next.since;
  }
  throw new Error(`no era has the local time ${new Date(local).toISOString()}`);
}
