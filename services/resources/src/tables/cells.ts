import { UUID_PATTERN } from '@commonplace/kit/id';
import { isLongerThan } from '@commonplace/kit/words';
import { choiceName, splitChoices } from './choices.js';
import { type Cell, type Column, type ColumnType, isList } from './column.js';
import { guessDate, guessMoment, parseDate, parseMoment } from './dates.js';
import { MAX_CELL_ITEMS, MAX_CELL_JSON, MAX_CELL_TEXT } from './limits.js';

/** How written values are converted and validated. */
export interface ConversionTerms {
  /** Whether values of other types are converted where possible. */
  readonly typecast: boolean;
  /**
   * Returns the id of a select column's choice, found by id or name. May create the choice; undefined if there is none.
   */
  choice(column: Column, text: string): string | undefined;
}

/** The reason why a column cannot hold a value. */
interface Refusal {
  readonly message: string;
}

/** A value in its stored form, or the reason why the column cannot hold it. */
type ConversionResult = { readonly cell: Cell } | Refusal;

type Take = (value: unknown, column: Column, taking: ConversionTerms) => ConversionResult;

const refuse = (message: string): Refusal => ({ message });
const take = (cell: Cell): ConversionResult => ({ cell });

const TAKES: Partial<Record<ColumnType, Take>> = {
  text: takeText,
  long_text: takeText,
  number: takeNumber,
  currency: takeNumber,
  percent: takeNumber,
  rating: takeRating,
  duration: takeNumber,
  checkbox: takeFlag,
  date: (value, _, { typecast }) =>
    takeTime(value, typecast ? guessDate : parseDate, 'must be a day, such as 2026-01-31.'),
  datetime: (value, { options: { timezone } }, { typecast }) =>
    takeTime(
      value,
      typecast ? (text) => guessMoment(text, timezone) : parseMoment,
      'must be a time with its zone, such as 2026-01-31T09:00:00Z.',
    ),
  select: takeChoice,
  multi_select: takeChoices,
  user: takeIds,
  link: takeIds,
  resource: takeIds,
  attachment: takeIds,
  url: takeUrl,
  email: (value, column, taking) => matched(value, column, taking, EMAIL, 'must be an e-mail address.'),
  phone: (value, column, taking) => matched(value, column, taking, PHONE, 'must be a telephone number.'),
  json: takeJson,
};

const EMAIL = /^[^\s@"<>(),;:\\]{1,64}@[^\s@"<>(),;:\\]{1,190}$/;
const PHONE = /^\+?[0-9 ()./-]{3,32}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?$/i;
const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');
const ROW_ID = /^[^\p{Cc}"\\]{1,64}$/u;
const TRUE = new Set(['true', 'yes', 'y', '1', 'on', 'x', 'checked', '✓']);
const FALSE = new Set(['false', 'no', 'n', '0', 'off', 'unchecked']);

/** Returns whether a text is a valid row id: no quotation mark, backslash or control character. */
export const isRowId = (text: string): boolean => ROW_ID.test(text);

/**
 * Converts and validates a value, neither absent nor null, for a column. Refuses columns that clients may not write.
 */
export function takeCell(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  if (taking.typecast && (value === '' || (Array.isArray(value) && value.length === 0))) return take(null);
  const by = TAKES[column.type];
  return by === undefined ? refuse('cannot be written.') : by(value, column, taking);
}

function takeText(value: unknown, { options }: Column, { typecast }: ConversionTerms): ConversionResult {
  const text = typeof value === 'string' ? value : typecast ? plainText(value) : undefined;
  if (text === undefined) return refuse('must be a text.');
  const max = Math.min(options.max_length ?? MAX_CELL_TEXT, MAX_CELL_TEXT);
  return isLongerThan(text, max) ? refuse(`may have at most ${max} characters.`) : take(text);
}

function takeNumber(value: unknown, { type, options }: Column, { typecast }: ConversionTerms): ConversionResult {
  const number = typeof value === 'number' ? value : typecast ? castNumber(value, type, options.currency) : undefined;
  if (number === undefined || !Number.isFinite(number)) return refuse('must be a number.');
  const min = options.min ?? (type === 'duration' ? 0 : Number.NEGATIVE_INFINITY);
  if (number < min) return refuse(`must be ${min} or more.`);
  if (options.max !== undefined && number > options.max) return refuse(`must be ${options.max} or less.`);
  // JSON has no negative zero.
  return take(number === 0 ? 0 : number);
}

function takeRating(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  const taken = takeNumber(value, column, taking);
  if (!('cell' in taken)) return taken;
  const max = column.options.max ?? 5;
  const number = taken.cell as number;
  const whole = Number.isInteger(number) && number >= 0 && number <= max;
  return whole ? taken : refuse(`must be a whole number from 0 to ${max}.`);
}

/** Maximum characters of a text that is converted to a number: the patterns below take the square of its length. */
const MAX_NUMBER_TEXT = 500;

/** A duration as a clock shows it: minutes and seconds, or hours, minutes and seconds. */
const CLOCK = /^(-?)(\d+):([0-5]\d)(?::([0-5]\d))?$/;

function clockSeconds([, sign, ...units]: RegExpExecArray): number {
  const seconds = units.filter((unit) => unit !== undefined).reduce((sum, unit) => sum * 60 + Number(unit), 0);
  return sign === '-' ? -seconds : seconds;
}

function castNumber(value: unknown, type: ColumnType, currency?: string): number | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return undefined;
  const text = withoutCode(value.trim(), currency);
  if (text.length > MAX_NUMBER_TEXT) return undefined;
  const clock = type === 'duration' ? CLOCK.exec(text) : null;
  if (clock !== null) return clockSeconds(clock);
  const percent = type === 'percent' && text.endsWith('%');
  const digits = text.replace(/^[\p{Sc}\s]+|[\p{Sc}\s%]+$/gu, '').replace(/[,\s_](?=\d{3}(?:\D|$))/g, '');
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(digits)) return undefined;
  return percent ? Number(digits) / 100 : Number(digits);
}

/** Returns an amount without the code of its currency, in front of it or behind it. */
function withoutCode(text: string, currency: string | undefined): string {
  if (currency === undefined) return text;
  if (text.startsWith(currency)) return text.slice(currency.length);
  return text.endsWith(currency) ? text.slice(0, -currency.length) : text;
}

function takeFlag(value: unknown, _: Column, { typecast }: ConversionTerms): ConversionResult {
  if (typeof value === 'boolean') return take(value);
  const word = typecast && (typeof value === 'string' || typeof value === 'number') ? String(value).trim() : '';
  if (TRUE.has(word.toLowerCase())) return take(true);
  if (FALSE.has(word.toLowerCase())) return take(false);
  return refuse('must be true or false.');
}

function takeTime(value: unknown, parse: (text: string) => string | undefined, message: string): ConversionResult {
  const time = typeof value === 'string' ? parse(value) : undefined;
  return time === undefined ? refuse(message) : take(time);
}

function takeChoice(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  const text = typeof value === 'string' ? value : taking.typecast ? plainText(value) : undefined;
  if (text === undefined) return refuse('must be the id or name of a choice.');
  const id = taking.choice(column, text);
  return id === undefined ? refuse(`has no choice ${shorten(text)}.`) : take(id);
}

function takeChoices(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  const one = taking.typecast && (typeof value === 'number' || typeof value === 'boolean');
  const list = one ? [String(value)] : itemsOf(value, taking, (text) => splitChoices(column, text));
  if (list === undefined) return refuse('must be a list of ids or names of choices.');
  const ids = new Set<string>();
  for (const text of new Set(list)) {
    const id = taking.choice(column, text);
    if (id === undefined) return refuse(`has no choice ${shorten(text)}.`);
    ids.add(id);
  }
  return listed([...ids], column);
}

function takeIds(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  const list = itemsOf(value, taking);
  const isId = column.type === 'link' ? isRowId : (text: string) => UUID.test(text);
  if (list === undefined || !list.every(isId)) return refuse('must be a list of ids.');
  return listed([...new Set(list)], column);
}

function listed(ids: readonly string[], { options }: Column): ConversionResult {
  if (ids.length > MAX_CELL_ITEMS) return refuse(`may have at most ${MAX_CELL_ITEMS} elements.`);
  if (options.many === false && ids.length > 1) return refuse('may have at most one element.');
  return take(ids.length === 0 ? null : ids);
}

function itemsOf(value: unknown, { typecast }: ConversionTerms, split = splitItems): string[] | undefined {
  if (Array.isArray(value)) {
    const items = typecast ? value.map(plainText) : value;
    return items.every((item): item is string => typeof item === 'string') ? items : undefined;
  }
  return typecast && typeof value === 'string' ? split(value) : undefined;
}

const splitItems = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || []);

function takeUrl(value: unknown, column: Column, taking: ConversionTerms): ConversionResult {
  const taken = takeText(value, column, taking);
  if (!('cell' in taken)) return taken;
  const text = (taken.cell as string).trim();
  const full = taking.typecast && !/^[a-z][a-z0-9+.-]*:/i.test(text) ? `https://${text}` : text;
  // The parser of URLs skips tabs and line breaks, which are no part of one.
  const known = !/\p{Cc}/u.test(full) && URL.canParse(full) && /^(?:https?|mailto|tel):$/.test(new URL(full).protocol);
  return known ? take(full) : refuse('must be a URL: http, https, mailto or tel.');
}

function matched(
  value: unknown,
  column: Column,
  taking: ConversionTerms,
  pattern: RegExp,
  message: string,
): ConversionResult {
  const taken = takeText(value, column, taking);
  if (!('cell' in taken)) return taken;
  const text = (taken.cell as string).trim();
  return pattern.test(text) ? take(text) : refuse(message);
}

function takeJson(value: unknown): ConversionResult {
  const size = Buffer.byteLength(JSON.stringify(value));
  return size > MAX_CELL_JSON ? refuse(`may have at most ${MAX_CELL_JSON} bytes.`) : take(value as Cell);
}

/** Returns a value as plain text; undefined for null. */
export function plainText(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.flatMap((item) => plainText(item) ?? []).join(', ');
  return JSON.stringify(value);
}

/** Returns the names of the choices in a cell. */
function choiceNames(cell: Cell, column: Column): string[] {
  return elementsOf(cell).map((id) => choiceName(column, id) ?? id);
}

/** Returns a stored value as people read it, with choices and people by name. */
export function displayText(cell: Cell, column: Column, nameOf: (id: string) => string | undefined): string {
  if (cell === null) return '';
  const { type, options } = column;
  if (type === 'select' || type === 'multi_select') return choiceNames(cell, column).join(', ');
  if (type === 'created_by' || type === 'updated_by' || type === 'user') {
    return elementsOf(cell)
      .map((id) => nameOf(id) ?? id)
      .join(', ');
  }
  if (type === 'json' && typeof cell === 'object') return JSON.stringify(cell);
  if (typeof cell === 'number') return displayNumber(cell, type, options.precision, options.currency);
  if (type === 'datetime' && typeof cell === 'string' && options.timezone !== undefined) {
    return new Date(cell).toLocaleString('sv-SE', { timeZone: options.timezone });
  }
  return plainText(cell) ?? '';
}

function displayNumber(number: number, type: ColumnType, precision?: number, currency?: string): string {
  if (type === 'percent') return `${rounded(exact(number * 100), precision)} %`;
  if (type === 'currency') return [rounded(number, precision ?? 2), currency].filter(Boolean).join(' ');
  if (type === 'duration') return clockTime(number);
  return rounded(number, precision);
}

/** Returns a product without what its factors, as binary fractions, add to it. */
const exact = (product: number): number => Number(product.toPrecision(12));

/** Formats by their number of decimal places; a format takes longer to make than to use. */
const formats: Intl.NumberFormat[] = [];

/** Rounds a number as it is written: 1.005 is 1.01, although the nearest binary fraction is less than 1.005. */
function rounded(number: number, precision: number | undefined): string {
  if (precision === undefined) return String(number);
  const digits = { minimumFractionDigits: precision, maximumFractionDigits: precision };
  formats[precision] ??= new Intl.NumberFormat('en', { ...digits, useGrouping: false });
  return formats[precision].format(number);
}

function clockTime(duration: number): string {
  const seconds = Math.floor(Math.abs(duration));
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const sign = duration < 0 && seconds > 0 ? '-' : '';
  return `${sign}${Math.floor(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** Returns the elements of a list, or a single value as one element; none for null. */
export function elementsOf(cell: Cell): string[] {
  if (Array.isArray(cell)) return cell.map(String);
  return cell === null ? [] : [String(cell)];
}

/** Returns whether a stored value counts as empty. */
export function isEmpty(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || cell === '';
}

/** Returns whether two values are equal; lists and objects are compared by content. */
export function sameCell(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if ((a ?? null) === null || (b ?? null) === null) return (a ?? null) === (b ?? null);
  return typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b);
}

/** Converts a value from one column type to another. Choices are converted by name; lists of ids are kept. */
export function convertCell(cell: Cell, from: Column, to: Column, taking: ConversionTerms): ConversionResult {
  const chosen = from.type === 'select' || from.type === 'multi_select';
  const names = chosen && cell !== null ? choiceNames(cell, from) : undefined;
  const value = names === undefined || isList(to.type) ? (names ?? cell) : names.join(', ');
  return takeCell(value, to, { ...taking, typecast: true });
}

/** Quotes a text for a message, shortened to 40 characters. */
function shorten(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
