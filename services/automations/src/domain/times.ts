const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const MOMENT = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const DAY_MS = 86_400_000;

/** A day or an instant in epoch milliseconds; `to` is the last millisecond of a day, in UTC. */
interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Returns the range of a text in the form `YYYY-MM-DD` or RFC 3339; undefined for any other value. */
export function timeRange(value: unknown): TimeRange | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const day = DAY.test(value) ? value : MOMENT.exec(value)?.[1];
  if (day === undefined || !isCalendarDay(day)) return undefined;
  const from = Date.parse(value.toUpperCase().replace(' ', 'T'));
  if (Number.isNaN(from)) return undefined;
  return { from, to: day === value ? from + DAY_MS - 1 : from };
}

/** Returns whether the month has the day. `Date.parse` accepts 31 February as a day in March. */
function isCalendarDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}
