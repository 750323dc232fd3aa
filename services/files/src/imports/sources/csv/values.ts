import { types } from 'node:util';

/** Returns whether a value is a date, including one that another process has sent. */
export const isDate = (value: unknown): value is Date => types.isDate(value);

/** The content of a source's cell. */
export type Value = null | string | number | boolean | Date | object;

const ISO_DAY = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})$/;
const POINTS = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/;
const SLASHES = /^(\d{1,2})([/-])(\d{1,2})\2(\d{4})$/;
const MONTH_FIRST = /^([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/;
const DAY_FIRST = /^(\d{1,2})(?:st|nd|rd|th)?[ -]([A-Za-z]{3,9})\.?,?[ -](\d{4})$/;
const WITH_TIME =
  /^(.*?\d{4}(?:[-/.]\d{1,2}[-/.]\d{1,2})?),?(?:[ T]| at )(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(?: ?([AaPp])\.?[Mm]\.?)?( ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$/;

const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** Whether the day precedes the month in `1/2/2024`; undefined when that is ambiguous. */
export type DayOrder = 'day' | 'month' | undefined;

/** Holds a day, or a moment if a time is given. */
interface DayOrTime {
  readonly day: string;
  /** `HH:MM:SS.mmm`, followed by the zone; `Z` if none is given. */
  readonly time?: string;
  readonly hasZone?: boolean;
}

const two = (number: number | string): string => String(number).padStart(2, '0');

function dayOf(year: number, month: number, day: number): string | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
}

function monthOf(word: string): number | undefined {
  const lower = word.toLowerCase();
  const at = MONTHS.findIndex(
    (month) => month === lower || month.slice(0, 3) === lower || (lower === 'sept' && month === 'september'),
  );
  return at === -1 ? undefined : at + 1;
}

function readDay(text: string, order: DayOrder): string | undefined {
  const iso = ISO_DAY.exec(text);
  if (iso !== null) return dayOf(Number(iso[1]), Number(iso[3]), Number(iso[4]));
  const points = POINTS.exec(text);
  if (points !== null) return dayOf(Number(points[3]), Number(points[2]), Number(points[1]));
  const slashes = SLASHES.exec(text);
  if (slashes !== null) {
    const [first, second, year] = [Number(slashes[1]), Number(slashes[3]), Number(slashes[4])];
    if (order === undefined) return undefined;
    return order === 'day' ? dayOf(year, second, first) : dayOf(year, first, second);
  }
  const named = MONTH_FIRST.exec(text);
  const behind = named === null ? DAY_FIRST.exec(text) : null;
  const month = monthOf(named?.[1] ?? behind?.[2] ?? '');
  if (month === undefined) return undefined;
  return dayOf(Number(named?.[3] ?? behind?.[3]), month, Number(named?.[2] ?? behind?.[1]));
}

/** Parses a day or a moment. Returns undefined for other texts and for ambiguous ones. */
export function readWhen(given: string, order: DayOrder): DayOrTime | undefined {
  const text = given.trim();
  if (text.length > 64) return undefined;
  const plain = readDay(text, order);
  if (plain !== undefined) return { day: plain };
  const match = WITH_TIME.exec(text);
  if (match === null) return undefined;
  const [, before = '', hour = '', minute = '', second = '00', fraction = '', half, zone = ''] = match;
  const day = readDay(before, order);
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  if (day === undefined || hours > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return undefined;
  const time = `${two(hours)}:${minute}:${second}${fraction.slice(0, 4)}`;
  const named = zone.trim();
  return { day, time: time + (/^[+-]/.test(named) ? named : 'Z'), hasZone: named !== '' };
}

/** Converts to a moment in UTC; a day becomes its midnight. */
export function momentOfWhen({ day, time }: DayOrTime): string {
  const zoned = `${day}T${time ?? '00:00:00Z'}`.replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
  return new Date(zoned).toISOString();
}

/** Finds out which number of `1/2/2024` is the day, from values in which only one of them can be. */
export function dayOrderOf(texts: readonly string[]): DayOrder {
  let day = false;
  let month = false;
  for (const text of texts) {
    const match = /^(\d{1,2})([/-])(\d{1,2})\2\d{4}/.exec(text.trim());
    if (match === null) continue;
    if (Number(match[1]) > 12) day = true;
    if (Number(match[3]) > 12) month = true;
  }
  return day === month ? undefined : day ? 'day' : 'month';
}

const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const GROUPED = /^-?[1-9]\d{0,2}(?:,\d{3})*(?:\.\d+)?$/;
const COMMA = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?$/;
const MAX_DIGITS = 15;

/** How the numbers of a column are written: as in JSON, with thousands separators, or with a decimal comma. */
type NumberForm = 'plain' | 'grouped' | 'comma';

function digitsOf(text: string, form: NumberForm): string {
  if (form === 'grouped') return text.replaceAll(',', '');
  return form === 'comma' ? text.replaceAll('.', '').replace(',', '.') : text;
}

/** Parses a number that survives without loss: no leading zeros, and no more digits than a number keeps. */
export function readNumber(given: string, form: NumberForm): number | undefined {
  const text = given.trim();
  const pattern = form === 'plain' ? PLAIN : form === 'grouped' ? GROUPED : COMMA;
  if (
    text.length > 32 ||
    !(
      pattern.test(text) ||
      (form !== 'plain' && /^-?(?:0|[1-9]\d*)$/.test(text)) ||
      (form === 'grouped' && PLAIN.test(text))
    )
  )
    return undefined;
  const digits = digitsOf(text, form);
  if (digits.replace(/^-?0*\.?0*|\.|-/g, '').length > MAX_DIGITS) return undefined;
  const number = Number(digits);
  return Number.isFinite(number) && !Object.is(number, -0) ? number : undefined;
}

/** Counts the decimal places of a number as it is written. */
export const decimalsOf = (text: string, form: NumberForm): number =>
  /\.(\d+)$/.exec(digitsOf(text.trim(), form))?.[1]?.length ?? 0;

/** Returns the form in which all texts are numbers, or undefined when that is ambiguous. */
export function numberFormOf(texts: readonly string[], decimalComma: boolean): NumberForm | undefined {
  const all = (form: NumberForm) => texts.every((text) => readNumber(text, form) !== undefined);
  if (all('plain')) return 'plain';
  // A single comma may be either separator: the form is certain only if some number can be read in one way.
  if (texts.some((text) => /,\d{3}[.,]/.test(text)) && all('grouped')) return 'grouped';
  const sure = texts.some((text) => /,(?:\d{1,2}|\d{4,})$/.test(text.trim()) || /\.\d{3},/.test(text));
  return decimalComma && sure && all('comma') ? 'comma' : undefined;
}
