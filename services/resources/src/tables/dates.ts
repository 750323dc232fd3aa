import { toInstant } from '@commonplace/kit/zones';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})$/;
const LOOSE_DATE = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[Tt ](.*))?$/;
const ONE_DIGIT_HOUR = /^\d:/;

/** Returns a calendar day `YYYY-MM-DD` as it is; undefined if the text is not one. */
export function parseDate(text: string): string | undefined {
  return DATE.test(text) && !Number.isNaN(dayStart(text)) ? text : undefined;
}

/** Returns a time with a zone in UTC, to the millisecond; undefined if the text is not one. */
export function parseMoment(text: string): string | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, day = '', hour, minute, second = '00', fraction = '', zone = ''] = match;
  if (parseDate(day) === undefined) return undefined;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const ms = Date.parse(`${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}${offset}`);
  return isMoment(ms) ? new Date(ms).toISOString() : undefined;
}

/** Returns the day that a text most likely means, with other separators or as part of a time. */
export function guessDate(text: string): string | undefined {
  const match = LOOSE_DATE.exec(text.trim());
  if (match === null) return undefined;
  const [, year = '', month = '', day = ''] = match;
  return parseDate(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`);
}

/**
 * Returns the time that a text most likely means: of the time zone, or UTC, if it names none, and midnight for a day.
 * Undefined if it has a time that does not exist, such as 25:00.
 */
export function guessMoment(text: string, timezone?: string): string | undefined {
  const trimmed = text.trim();
  const day = guessDate(trimmed);
  if (day === undefined) return undefined;
  const rest = LOOSE_DATE.exec(trimmed)?.[4]?.trim() ?? '';
  const time = `${day}T${ONE_DIGIT_HOUR.test(rest) ? '0' : ''}${/^\d/.test(rest) ? rest : '00:00'}`;
  return parseMoment(time) ?? shownMoment(parseMoment(`${time}Z`), timezone);
}

/** Returns the instant at which a clock in `timezone` shows the date and time that a clock in UTC shows at `utc`. */
function shownMoment(utc: string | undefined, timezone: string | undefined): string | undefined {
  if (utc === undefined || timezone === undefined) return utc;
  const ms = toInstant(timezone, Date.parse(utc));
  return isMoment(ms) ? new Date(ms).toISOString() : undefined;
}

/** Returns epoch milliseconds of a stored day or time; NaN for any other text. */
export function timeOf(text: string): number {
  return text.length === 10 ? dayStart(text) : Date.parse(text);
}

/** Returns epoch milliseconds of the start of a day in UTC; NaN if the month has no such day. */
function dayStart(day: string): number {
  const month = Number(day.slice(5, 7)) - 1;
  const date = new Date(0);
  date.setUTCFullYear(Number(day.slice(0, 4)), month, Number(day.slice(8, 10)));
  return date.getUTCMonth() === month && date.getUTCDate() === Number(day.slice(8, 10)) ? date.getTime() : Number.NaN;
}

function isMoment(ms: number): boolean {
  const year = Number.isNaN(ms) ? -1 : new Date(ms).getUTCFullYear();
  return year >= 0 && year <= 9999;
}
