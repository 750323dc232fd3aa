import {
  type DayOrder,
  dayOrderOf,
  decimalsOf,
  isDate,
  momentOfWhen,
  numberFormOf,
  readNumber,
  readWhen,
  type Value,
} from './values.js';

/** A cell as a table stores it. */
export type Cell = null | string | number | boolean | object;

/** Describes the type of a column, and how its values become cells. */
interface ColumnShape {
  readonly type: string;
  readonly options?: Readonly<Record<string, unknown>>;
  cell(value: Value): Cell;
  /** Warning for the user. */
  readonly note?: string;
}

export interface Hints {
  /**
   * Whether texts may be read as numbers, dates and booleans; otherwise they stay text, URLs, e-mail addresses or
   * choices.
   */
  readonly texts: boolean;
  /** Whether numbers may have a decimal comma. */
  readonly decimalComma?: boolean;
  /** Whether this is the first column, which names its rows. */
  readonly names: boolean;
  /** Whether cells may hold several choices, separated by commas. */
  readonly lists?: boolean;
}

const LONG = 200;
const MAX_CELL_JSON = 64 * 1024;
const MAX_CHOICES = 25;
const MAX_CHOICE = 60;
const EMAIL = /^[^\s@"<>(),;:\\]{1,64}@[^\s@"<>(),;:\\]{1,185}\.[^\s@"<>(),;:\\.]{2,24}$/;
const PHONE = /^\+\d[0-9 ()./-]{5,24}\d$/;
const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false, yes: true, no: false };

/** Converts a value to text. */
function textCell(value: Value): string | null {
  if (value === null || value === '') return null;
  if (isDate(value)) return Number.isNaN(value.getTime()) ? null : dateText(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function dateText(date: Date): string {
  const text = date.toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text;
}

export const isEmptyValue = (value: Value): boolean =>
  value === null || (typeof value === 'string' && value.trim() === '');

const TEXT: ColumnShape = { type: 'text', cell: textCell };
const LONG_TEXT: ColumnShape = { type: 'long_text', cell: textCell };
const plain = (texts: readonly string[]): ColumnShape =>
  texts.some((text) => text.length > LONG || text.includes('\n')) ? LONG_TEXT : TEXT;

/** Builds a column whose cells are computed from the text of each value. */
const ofText = (type: string, read: (text: string) => Cell, more: Partial<ColumnShape> = {}): ColumnShape => ({
  type,
  cell: (value) => (isEmptyValue(value) ? null : read(String(value))),
  ...more,
});

function numberShape(texts: readonly string[], decimalComma: boolean): ColumnShape | undefined {
  const form = numberFormOf(texts, decimalComma);
  if (form === undefined) return undefined;
  const places = texts.reduce((most, text) => Math.max(most, decimalsOf(text, form)), 0);
  // Keeps trailing zeros visible, which a number alone would not show.
  const options =
    places > 0 && places <= 8 && texts.some((text) => /0$/.test(text) && decimalsOf(text, form) > 0)
      ? { precision: places }
      : undefined;
  return ofText('number', (text) => readNumber(text, form) ?? null, options === undefined ? {} : { options });
}

function percentShape(texts: readonly string[]): ColumnShape | undefined {
  const read = (text: string) =>
    text.trim().endsWith('%') ? readNumber(text.trim().slice(0, -1).trimEnd(), 'plain') : undefined;
  if (!texts.every((text) => read(text) !== undefined)) return undefined;
  return ofText('percent', (text) => Number(((read(text) ?? 0) / 100).toPrecision(MAX_DIGITS)));
}

const MAX_DIGITS = 15;

function timeShape(texts: readonly string[]): ColumnShape | undefined {
  const order: DayOrder = dayOrderOf(texts);
  let timed = 0;
  let zoneless = 0;
  for (const text of texts) {
    const when = readWhen(text, order);
    if (when === undefined) return undefined;
    if (when.time !== undefined) timed += 1;
    if (when.time !== undefined && when.hasZone !== true) zoneless += 1;
  }
  if (timed === 0) return ofText('date', (text) => readWhen(text, order)?.day ?? null);
  if (timed < texts.length) return undefined;
  const read = (text: string) => {
    const when = readWhen(text, order);
    return when === undefined ? null : momentOfWhen(when);
  };
  return ofText('datetime', read, zoneless > 0 ? { note: 'its times have no zone and were read as UTC' } : {});
}

function flagShape(texts: readonly string[]): ColumnShape | undefined {
  const words = new Set<string>();
  for (const text of texts) {
    words.add(text.trim().toLowerCase());
    if (words.size > 2) return undefined;
  }
  const isPair = (yes: string, no: string) => [...words].every((word) => word === yes || word === no);
  if (!isPair('true', 'false') && !(isPair('yes', 'no') && words.size === 2)) return undefined;
  return ofText('checkbox', (text) => FLAGS[text.trim().toLowerCase()] ?? null);
}

const isUrl = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text);

function addressShape(texts: readonly string[]): ColumnShape | undefined {
  const trimmed = texts.map((text) => text.trim());
  const kind = [
    ['url', isUrl] as const,
    ['email', (text: string) => EMAIL.test(text)] as const,
    ['phone', (text: string) => PHONE.test(text)] as const,
  ].find(([, holds]) => trimmed.every(holds))?.[0];
  return kind === undefined ? undefined : ofText(kind, (text) => text.trim());
}

const isChoice = (text: string): boolean =>
  text === text.trim() && text !== '' && text.length <= MAX_CHOICE && !/\p{Cc}/u.test(text) && !/^[=+@]/.test(text);

/** Detects a column of few choices, each of which occurs several times. */
function choiceShape(texts: readonly string[]): ColumnShape | undefined {
  const names = new Set<string>();
  for (const text of texts) {
    if (!isChoice(text) || names.size > MAX_CHOICES) return undefined;
    names.add(text);
  }
  if (names.size > MAX_CHOICES || texts.length < 6 || texts.length < names.size * 3) return undefined;
  return ofText('select', (text) => text, { options: { choices: [...names].map((name) => ({ name })) } });
}

const partsOf = (text: string): string[] => text.split(',').map((part) => part.trim());

/** Detects a column of several comma-separated choices per cell, as tools export tags. */
function choicesShape(texts: readonly string[]): ColumnShape | undefined {
  if (!texts.some((text) => text.includes(', '))) return undefined;
  const names = new Set<string>();
  let count = 0;
  for (const text of texts) {
    for (const part of partsOf(text)) {
      if (!isChoice(part) || part.length > 40 || names.size > MAX_CHOICES) return undefined;
      names.add(part);
      count += 1;
    }
  }
  if (count < names.size * 2) return undefined;
  const read = (text: string) => [...new Set(partsOf(text))];
  return ofText('multi_select', read, { options: { choices: [...names].map((name) => ({ name })) } });
}

function shapeOfTexts(texts: readonly string[], hints: Hints): ColumnShape {
  const read = hints.texts
    ? (numberShape(texts, hints.decimalComma === true) ?? percentShape(texts) ?? timeShape(texts) ?? flagShape(texts))
    : undefined;
  if (read !== undefined) return read;
  const address = addressShape(texts);
  if (address !== undefined) return address;
  const chosen = hints.names
    ? undefined
    : (choiceShape(texts) ?? (hints.lists === true ? choicesShape(texts) : undefined));
  return chosen ?? plain(texts);
}

const isDay = (date: Date): boolean => date.getTime() % 86_400_000 === 0;

/**
 * Detects the type of a column: a specific one if all values have it, else text. Converting to the type loses nothing.
 */
export function shapeOf(values: readonly Value[], hints: Hints): ColumnShape {
  const filled = values.filter((value) => !isEmptyValue(value));
  if (filled.length === 0) return TEXT;
  if (filled.every((value) => typeof value === 'string')) return shapeOfTexts(filled as string[], hints);
  if (filled.every((value) => typeof value === 'number' && Number.isFinite(value)))
    return { type: 'number', cell: (value) => (value === 0 ? 0 : (value as Cell)) };
  if (filled.every((value) => typeof value === 'boolean'))
    return { type: 'checkbox', cell: (value) => (isEmptyValue(value) ? null : (value as Cell)) };
  if (filled.every((value) => isDate(value) && !Number.isNaN(value.getTime()))) {
    const days = filled.every((value) => isDay(value as Date));
    const cell = (value: Value) => (isDate(value) ? value.toISOString().slice(0, days ? 10 : 24) : null);
    return { type: days ? 'date' : 'datetime', cell };
  }
  const isSmall = (value: Value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_CELL_JSON;
  if (filled.every((value) => typeof value === 'object' && !isDate(value) && isSmall(value)))
    return { type: 'json', cell: (value) => (isEmptyValue(value) ? null : value) };
  return plain(filled.map((value) => textCell(value) ?? ''));
}

/** Treats all values as text, whatever they look like. */
export function textShapeOf(values: readonly Value[]): ColumnShape {
  return plain(values.map((value) => textCell(value) ?? ''));
}
