/** A range of time, RFC 3339; the end is exclusive. */
export interface Period {
  readonly start: string;
  readonly end: string;
}

export type Granularity = 'hour' | 'day' | 'month';

/** Returns the calendar month (UTC) that a time is in, as `2026-11`. */
export function monthOf(at: string): string {
  return at.slice(0, 7);
}

/** Returns the beginning and end of a month that is given as `2026-11`. */
export function periodOf(month: string): Period {
  const start = `${month}-01T00:00:00.000Z`;
  return { start, end: nextOf(start, 'month') };
}

/** Returns the beginning of the hour, day or month (UTC) that a time is in. */
export function startOf(at: string, granularity: Granularity): string {
  if (granularity === 'month') return `${at.slice(0, 7)}-01T00:00:00.000Z`;
  return granularity === 'day' ? `${at.slice(0, 10)}T00:00:00.000Z` : `${at.slice(0, 13)}:00:00.000Z`;
}

/** Returns the beginning of the next hour, day or month after one that begins at `start`. */
function nextOf(start: string, granularity: Granularity): string {
  const time = new Date(start);
  if (granularity === 'month') time.setUTCMonth(time.getUTCMonth() + 1);
  else if (granularity === 'day') time.setUTCDate(time.getUTCDate() + 1);
  else time.setUTCHours(time.getUTCHours() + 1);
  return time.toISOString();
}

/** Extends a range to whole hours, days or months. */
export function widen({ start, end }: Period, granularity: Granularity): Period {
  const last = startOf(end, granularity);
  return { start: startOf(start, granularity), end: last === end ? end : nextOf(last, granularity) };
}

/** Yields the beginnings of the hours, days or months in a range that `widen` has returned. */
export function* intervalsOf({ start, end }: Period, granularity: Granularity): Generator<string> {
  for (let at = start; at < end; at = nextOf(at, granularity)) yield at;
}
