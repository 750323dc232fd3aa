import { elementsOf, isEmpty, plainText } from './cells.js';
import type { Cell } from './column.js';
import { timeOf } from './dates.js';
import { MAX_CELL_TEXT } from './limits.js';

type Values = readonly Cell[];

const DAY = 86_400_000;
const UNITS: Readonly<Record<string, number>> = {
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: DAY,
  weeks: 7 * DAY,
};

const text = (value: Cell | undefined): string => plainText(value) ?? '';
const number = (value: Cell | undefined): number => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (isEmpty(value)) return 0;
  return Array.isArray(value) ? Number.NaN : Number(value);
};
/** Lists as their elements, without what is empty. */
const flat = (values: Values): Cell[] =>
  values.flatMap((value) => (Array.isArray(value) ? flat(value) : isEmpty(value) ? [] : [value]));
const numbers = (values: Values): number[] => flat(values).map(number);
const sum = (values: Values): number => numbers(values).reduce((total, value) => total + value, 0);

function moment(value: Cell | undefined): Date {
  const ms = typeof value === 'string' ? timeOf(value) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error('a date is wanted');
  return new Date(ms);
}

function unit(value: Cell | undefined): number {
  const ms = UNITS[text(value ?? 'days').replace(/s?$/, 's')];
  if (ms === undefined) throw new Error(`a unit is one of ${Object.keys(UNITS).join(', ')}`);
  return ms;
}

function bounded(made: string): string {
  if (made.length > MAX_CELL_TEXT) throw new Error('the text is too long');
  return made;
}

/** What formulas can call. None of them loops over more than its arguments. */
const FUNCTIONS: Readonly<Record<string, (...values: Cell[]) => Cell>> = {
  if: (condition = null, yes = null, no = null) => (condition ? yes : no),
  min: (...values) => Math.min(...numbers(values)),
  max: (...values) => Math.max(...numbers(values)),
  sum: (...values) => sum(values),
  avg: (...values) => sum(values) / flat(values).length,
  count: (...values) => flat(values).length,
  pow: (base = null, exponent = null) => number(base) ** number(exponent),
  round: (value = null, digits = null) => {
    const scale = 10 ** Math.min(Math.max(Math.trunc(number(digits)), -12), 12);
    return Math.round(number(value) * scale) / scale;
  },
  number: (value = null) => number(value),
  text: (value = null) => text(value),
  concat: (...values) => bounded(flat(values).map(text).join('')),
  join: (list = null, by = null) => bounded(elementsOf(list).join(text(by ?? ', '))),
  upper: (value = null) => text(value).toUpperCase(),
  lower: (value = null) => text(value).toLowerCase(),
  trim: (value = null) => text(value).trim(),
  len: (value = null) => (Array.isArray(value) ? value.length : text(value).length),
  left: (value = null, size = null) => text(value).slice(0, Math.max(number(size), 0)),
  right: (value = null, size = null) => {
    const whole = text(value);
    return whole.slice(Math.max(whole.length - Math.max(number(size), 0), 0));
  },
  mid: (value = null, from = null, size = null) => text(value).slice(number(from) - 1, number(from) - 1 + number(size)),
  replace: (value = null, search = null, by = null) =>
    text(search) === '' ? text(value) : bounded(text(value).split(text(search)).join(text(by))),
  contains: (value = null, search = null) =>
    Array.isArray(value) ? value.includes(search) : text(value).includes(text(search)),
  empty: (value = null) => isEmpty(value),
  coalesce: (...values) => values.find((value) => !isEmpty(value)) ?? null,
  today: () => new Date().toISOString().slice(0, 10),
  now: () => new Date().toISOString(),
  year: (value = null) => moment(value).getUTCFullYear(),
  month: (value = null) => moment(value).getUTCMonth() + 1,
  day: (value = null) => moment(value).getUTCDate(),
  hour: (value = null) => moment(value).getUTCHours(),
  weekday: (value = null) => moment(value).getUTCDay(),
  date_diff: (from = null, to = null, by = null) => (moment(to).getTime() - moment(from).getTime()) / unit(by),
  date_add: (value = null, amount = null, by = null) => {
    const made = new Date(moment(value).getTime() + number(amount) * unit(by)).toISOString();
    return text(value).length === 10 ? made.slice(0, 10) : made;
  },
};

/** The functions under their names in small and in capital letters, on an object that inherits nothing. */
export function formulaFunctions(): Record<string, unknown> {
  const functions: Record<string, unknown> = Object.create(null);
  for (const [name, call] of Object.entries(FUNCTIONS)) {
    functions[name] = call;
    functions[name.toUpperCase()] = call;
  }
  return functions;
}

/** `+` adds numbers and joins texts; an empty cell is 0 beside a number and nothing beside a text. */
export function plus(a: Cell, b: Cell): Cell {
  return typeof a === 'string' || typeof b === 'string' ? bounded(text(a) + text(b)) : number(a) + number(b);
}

/** `||` joins texts. */
export function joined(a: Cell, b: Cell): Cell {
  return bounded(text(a) + text(b));
}
