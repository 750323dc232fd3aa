import type { Convert } from './convert.js';

// RFC 3339, section 5.6. Date, time and offset are all required.
const TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
// The range of google.protobuf.Timestamp.
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Reads points in time. Returns them in UTC with three digits of fraction and `Z`. */
export const readTime: Convert = (value, param, faults) => {
  if (typeof value !== 'string') return faults.add(param, 'invalid_type', 'must be a string.');
  return normalTime(value) ?? faults.add(param, 'invalid_value', 'must be a time such as 2026-01-31T09:30:00Z.');
};

/**
 * Normalizes an RFC 3339 time to `YYYY-MM-DDTHH:MM:SS.mmmZ`; undefined if it is invalid. Digits after the third are
 * dropped.
 */
function normalTime(text: string): string | undefined {
  const [, year, month, day] = TIME.exec(text) ?? [];
  if (year === undefined || !isDate(Number(year), Number(month), Number(day))) return undefined;
  const time = Date.parse(text.toUpperCase());
  return time >= EARLIEST && time <= LATEST ? new Date(time).toISOString() : undefined;
}

/** Returns whether a date exists. `Date.parse` accepts 31 February as a day in March. */
function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}
