import { elementsOf, isEmpty, plainText } from './cells.js';
import type { Cell } from './column.js';
import { timeOf } from './dates.js';
import { MAX_CELL_TEXT, MAX_FORMULA_TEXT } from './limits.js';

type Values = readonly Cell[];

const DAY = 86_400_000;
const UNITS: Readonly<Record<string, number>> = {
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: DAY,
  weeks: 7 * DAY,
};

/** Characters read so far for the cell that is being computed, including all cells that it depends on. */
let charactersRead = 0;
/** Depth of nested computations of cells. */
let depth = 0;

/**
 * Runs the computation of a cell. The text that formulas may read is counted for the outermost cell, together with the
 * cells that it depends on in any rows and tables; computations are synchronous, so no other one interferes.
 */
export function workOut<T>(work: () => T): T {
  if (depth === 0) charactersRead = 0;
  depth++;
  try {
    return work();
  } finally {
    depth--;
  }
}

/** Cost of computing one formula, in addition to what it reads, in characters. */
const FORMULA_CHARACTERS = 20;

/** Counts the computation of a formula. Throws if one cell needs more than any real page does. */
export function countFormula(): void {
  countCharacters(FORMULA_CHARACTERS);
}

function countCharacters(count: number): void {
  charactersRead += count;
  if (charactersRead > MAX_FORMULA_TEXT) throw new Error('the formula reads too much text');
}

/**
 * Returns the text of a value. Throws if one cell reads more text than any real page needs, as that blocks the process.
 */
const text = (value: Cell | undefined): string => {
  const plain = plainText(value) ?? '';
  countCharacters(plain.length);
  return plain;
};
const number = (value: Cell | undefined): number => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (isEmpty(value)) return 0;
  return Array.isArray(value) ? Number.NaN : Number(value);
};
/** Flattens lists into their elements, without empty ones. */
const flat = (values: Values): Cell[] =>
  values.flatMap((value) => (Array.isArray(value) ? flat(value) : isEmpty(value) ? [] : [value]));
const numbers = (values: Values): number[] => flat(values).map(number);
const sum = (values: Values): number => numbers(values).reduce((total, value) => total + value, 0);

function moment(value: Cell | undefined): Date {
  const ms = typeof value === 'string' ? timeOf(value) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error('a date is required');
  return new Date(ms);
}

function unit(value: Cell | undefined): number {
  const ms = UNITS[text(value ?? 'days').replace(/s?$/, 's')];
  if (ms === undefined) throw new Error(`the unit must be one of ${Object.keys(UNITS).join(', ')}`);
  return ms;
}

/** Returns the characters (code points) of a text: the text itself if each of them is one UTF-16 unit. */
const charactersOf = (whole: string): string | string[] => (/[\ud800-\udfff]/.test(whole) ? [...whole] : whole);

function cut(characters: string | readonly string[], from: number, to?: number): string {
  const part = characters.slice(from, to);
  return typeof part === 'string' ? part : part.join('');
}

/** Joins texts. Throws before it builds a text that is too long for a cell. */
function joinBounded(pieces: readonly string[], between = ''): string {
  const length = pieces.reduce((sum, piece) => sum + piece.length, between.length * Math.max(0, pieces.length - 1));
  if (length > MAX_CELL_TEXT) throw new Error('the text is too long');
  return pieces.join(between);
}

/** Replaces all occurrences of a text. Throws before it builds a text that is too long for a cell. */
function replaceBounded(whole: string, search: string, by: string): string {
  const growth = by.length - search.length;
  let length = whole.length;
  for (
    let at = whole.indexOf(search);
    at >= 0 && length <= MAX_CELL_TEXT;
    at = whole.indexOf(search, at + search.length)
  ) {
    length += growth;
  }
  if (growth > 0 && length > MAX_CELL_TEXT) throw new Error('the text is too long');
  return joinBounded(whole.split(search), by);
}

/** Functions that formulas can call. None of them loops over more than its arguments. */
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
  concat: (...values) => joinBounded(flat(values).map(text)),
  join: (list = null, by = null) => joinBounded(elementsOf(list), text(by ?? ', ')),
  upper: (value = null) => text(value).toUpperCase(),
  lower: (value = null) => text(value).toLowerCase(),
  trim: (value = null) => text(value).trim(),
  len: (value = null) => (Array.isArray(value) ? value.length : charactersOf(text(value)).length),
  left: (value = null, size = null) => cut(charactersOf(text(value)), 0, Math.max(number(size), 0)),
  right: (value = null, size = null) => {
    const whole = charactersOf(text(value));
    return cut(whole, Math.max(whole.length - Math.max(number(size), 0), 0));
  },
  mid: (value = null, from = null, size = null) =>
    cut(charactersOf(text(value)), number(from) - 1, number(from) - 1 + number(size)),
  replace: (value = null, search = null, by = null) =>
    text(search) === '' ? text(value) : replaceBounded(text(value), text(search), text(by)),
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

/** Returns the functions under their names in lower and upper case, on an object without a prototype. */
export function formulaFunctions(): Record<string, unknown> {
  const functions: Record<string, unknown> = Object.create(null);
  for (const [name, call] of Object.entries(FUNCTIONS)) {
    functions[name] = call;
    functions[name.toUpperCase()] = call;
  }
  return functions;
}

/** Implements `+`: adds numbers and joins texts. An empty cell is 0 beside a number and empty text beside a text. */
export function plus(a: Cell, b: Cell): Cell {
  return typeof a === 'string' || typeof b === 'string' ? joinBounded([text(a), text(b)]) : number(a) + number(b);
}

/** Implements `||`: joins texts. */
export function joined(a: Cell, b: Cell): Cell {
  return joinBounded([text(a), text(b)]);
}
