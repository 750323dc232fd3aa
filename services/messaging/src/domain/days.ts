const DAY_MS = 24 * 3600 * 1000;

/** Returns the time that is `days` days after `time` (epoch milliseconds), in RFC 3339. */
export function daysAfter(time: number, days: number): string {
  return new Date(time + days * DAY_MS).toISOString();
}
