import { invalidField } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { elementsOf, isEmpty, plainText } from './cells.js';
import { choiceId } from './choices.js';
import { type Cell, type Column, findColumn, isList, isNumber, isText, isTime } from './column.js';
import { guessMoment, parseDate, timeOf } from './dates.js';
import { foldText } from './terms.js';
import { compareText } from './text-order.js';

const OPS = [
  'eq',
  'neq',
  'contains',
  'not_contains',
  'gt',
  'gte',
  'lt',
  'lte',
  'before',
  'after',
  'in',
  'empty',
  'not_empty',
] as const;
type Op = (typeof OPS)[number];

/** A condition that has been validated against its column. */
export interface Test {
  readonly column: Column;
  /** Tests a cell in the API's form. */
  cell(cell: Cell): boolean;
  /** Tests a number, NaN for an empty cell; for columns that are stored as numbers. */
  number(value: number): boolean;
  /** Runs the test on many numbers and writes 0 or 1 to `out` from index `at` on. */
  readonly scan?: (values: Float64Array, out: Uint8Array, at: number) => void;
  /** Set for a substring test: the folded text, and whether it must occur or must not. */
  readonly search?: { readonly text: string; readonly want: boolean };
}

export type Filter = Test | { readonly all: readonly Filter[] } | { readonly any: readonly Filter[] };

const MAX_CONDITIONS = 100;
const MAX_LEVELS = 5;
const DAY = 86_400_000;

/**
 * Parses a filter `{"and":[{"column","op","value"}…]}`; `or` and nested groups are allowed too. Returns undefined for
 * an empty text. Throws `invalid_filter` or `unknown_column`.
 */
export function parseFilter(text: string, columns: readonly Column[]): Filter | undefined {
  if (text === '') return undefined;
  const given = parseJson(text, 'filter', 'invalid_filter');
  let conditions = 0;
  const read = (value: unknown, level: number): Filter => {
    if (!isObject(value) || level > MAX_LEVELS || ++conditions > MAX_CONDITIONS) {
      throw invalidFilter(`must be an object with at most ${MAX_LEVELS} levels and ${MAX_CONDITIONS} conditions.`);
    }
    for (const [key, as] of [['and', 'all'] as const, ['or', 'any'] as const]) {
      const group = value[key];
      if (group === undefined) continue;
      if (!Array.isArray(group) || Object.keys(value).length > 1)
        throw invalidFilter(`must have a list in ${key} and no other field beside it.`);
      const parts = group.map((part: unknown) => read(part, level + 1));
      return as === 'all' ? { all: parts } : { any: parts };
    }
    return readTest(value, columns);
  };
  return read(given, 1);
}

/** Returns the columns that a filter tests. */
export function columnsOf(filter: Filter): Column[] {
  if ('column' in filter) return [filter.column];
  return ('all' in filter ? filter.all : filter.any).flatMap(columnsOf);
}

export function parseJson(text: string, param: string, code: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField(param, code, `${param} must be JSON.`);
  }
}

const invalidFilter = (message: string) => invalidField('filter', 'invalid_filter', message);

/** Finds the column of a filter or sort. Throws `unknown_column`. */
export function requireColumn(key: unknown, columns: readonly Column[], param: string): Column {
  const column = typeof key === 'string' ? findColumn(columns, key) : undefined;
  if (column === undefined) {
    throw invalidField(
      param,
      'unknown_column',
      `There is no column, or more than one, with the id or name ${JSON.stringify(key ?? null)}.`,
    );
  }
  return column;
}

function readTest(given: Record<string, unknown>, columns: readonly Column[]): Test {
  const { column: key, op, value, ...rest } = given;
  if (Object.keys(rest).length > 0) throw invalidFilter('may have only column, op and value in a condition.');
  const column = requireColumn(key, columns, 'filter');
  if (!OPS.includes(op as Op)) throw invalidFilter(`must have an op out of ${OPS.join(', ')}.`);
  return createTest(column, op as Op, value);
}

function createTest(column: Column, op: Op, value: unknown): Test {
  if (op === 'empty' || op === 'not_empty') {
    const want = op === 'empty';
    return { column, cell: (cell) => isEmpty(cell) === want, number: (number) => Number.isNaN(number) === want };
  }
  if (value === undefined || value === null)
    throw invalidFilter(`needs a value for ${op}; use the op empty to find empty cells.`);
  const { type } = column;
  if (isNumber(type)) return numberTest(column, op, value);
  if (isTime(type)) return timeTest(column, op, value);
  if (type === 'checkbox') return flagTest(column, op, value);
  if (isList(type)) return listTest(column, op, value);
  if (type === 'formula' || type === 'rollup') return computedTest(column, op, value);
  return textTest(column, op, value);
}

const refuseOp = (column: Column, op: Op) => invalidFilter(`cannot use ${op} on a column of type ${column.type}.`);

type Compare = (a: number, b: number) => boolean;
const COMPARES: Partial<Record<Op, Compare>> = {
  eq: (a, b) => a === b,
  neq: (a, b) => a !== b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  after: (a, b) => a > b,
  before: (a, b) => a < b,
};

/** Returns a comparison over a whole vector: a loop without calls is several times as fast. */
function scanFor(op: Op, value: number): Test['scan'] {
  return (values, out, at) => {
    const { length } = values;
    if (op === 'gt' || op === 'after')
      for (let i = 0; i < length; i++) out[at + i] = Number((values[i] as number) > value);
    else if (op === 'gte') for (let i = 0; i < length; i++) out[at + i] = Number((values[i] as number) >= value);
    else if (op === 'lt' || op === 'before')
      for (let i = 0; i < length; i++) out[at + i] = Number((values[i] as number) < value);
    else if (op === 'lte') for (let i = 0; i < length; i++) out[at + i] = Number((values[i] as number) <= value);
    else for (let i = 0; i < length; i++) out[at + i] = Number((values[i] === value) === (op === 'eq'));
  };
}

function ofNumbers(column: Column, number: (value: number) => boolean): Test {
  return {
    column,
    number,
    cell: (cell) => number(typeof cell === 'number' ? cell : typeof cell === 'string' ? timeOf(cell) : Number.NaN),
  };
}

function numberTest(column: Column, op: Op, value: unknown): Test {
  if (op === 'in') {
    const wanted = new Set(listOf(value, (item) => (Number.isFinite(item) ? (item as number) : undefined)));
    return ofNumbers(column, (number) => wanted.has(number));
  }
  const compare = op === 'before' || op === 'after' ? undefined : COMPARES[op];
  if (compare === undefined) throw refuseOp(column, op);
  if (typeof value !== 'number') throw invalidFilter(`must compare ${column.id} with a number.`);
  return { ...ofNumbers(column, (number) => compare(number, value)), scan: scanFor(op, value) };
}

/** Compares times; a day as the value means the whole day. */
function timeTest(column: Column, op: Op, value: unknown): Test {
  const range = (item: unknown): [number, number] | undefined => {
    const text = typeof item === 'string' ? guessMoment(item) : undefined;
    if (text === undefined) return undefined;
    const start = timeOf(text);
    return [start, parseDate(item as string) === undefined ? start : start + DAY - 1];
  };
  if (op === 'in') {
    const wanted = listOf(value, range);
    return ofNumbers(column, (at) => wanted.some(([from, to]) => at >= from && at <= to));
  }
  const compare = COMPARES[op];
  if (compare === undefined) throw refuseOp(column, op);
  const [from, to] = range(value) ?? [];
  if (from === undefined || to === undefined) throw invalidFilter(`must compare ${column.id} with a day or a time.`);
  const within = (at: number): boolean => at >= from && at <= to;
  if (op === 'eq') return ofNumbers(column, within);
  if (op === 'neq') return ofNumbers(column, (at) => !within(at));
  const edge = op === 'gt' || op === 'after' || op === 'lte' ? to : from;
  return { ...ofNumbers(column, (at) => compare(at, edge)), scan: scanFor(op, edge) };
}

/** Tests a checkbox; one that was never set counts as not ticked. */
function flagTest(column: Column, op: Op, value: unknown): Test {
  if ((op !== 'eq' && op !== 'neq') || typeof value !== 'boolean') {
    throw invalidFilter(`must compare ${column.id} by eq or neq with true or false.`);
  }
  const want = (op === 'eq') === value;
  return { column, cell: (cell) => (cell === true) === want, number: (number) => (number === 1) === want };
}

function ofCells(column: Column, cell: (cell: Cell) => boolean): Test {
  return { column, cell, number: () => false };
}

function textTest(column: Column, op: Op, value: unknown): Test {
  const { type } = column;
  const known = (item: unknown) => (typeof item === 'string' ? wantedText(column, item) : undefined);
  if (op === 'in') {
    const wanted = new Set(listOf(value, known));
    return ofCells(column, (cell) => wanted.has(plainText(cell) ?? ''));
  }
  const text = known(value);
  if (text === undefined) throw invalidFilter(`must compare ${column.id} with a text.`);
  if (op === 'eq') return ofCells(column, (cell) => (plainText(cell) ?? '') === text);
  if (op === 'neq') return ofCells(column, (cell) => (plainText(cell) ?? '') !== text);
  if (op === 'contains' || op === 'not_contains') {
    const search = foldText(value as string);
    const shown = choiceNames(column);
    const want = op === 'contains';
    const test = ofCells(column, (cell) => foldText(shown(cell)).includes(search) === want);
    return isText(type) ? { ...test, search: { text: search, want } } : test;
  }
  const compare = op === 'before' || op === 'after' ? undefined : COMPARES[op];
  if (compare === undefined || type === 'json') throw refuseOp(column, op);
  const shown = choiceNames(column);
  return ofCells(column, (cell) => !isEmpty(cell) && compare(compareText(shown(cell), value as string), 0));
}

/**
 * Tests the elements of a list by id, and choices by name too. `contains` requires all of the values, `in` at least
 * one, `eq` exactly these.
 */
function listTest(column: Column, op: Op, value: unknown): Test {
  const known = (item: unknown) =>
    typeof item === 'string' || typeof item === 'number' ? wantedText(column, String(item)) : undefined;
  const wanted = listOf(Array.isArray(value) ? value : [value], known);
  if (op === 'contains' || op === 'not_contains') {
    const want = op === 'contains';
    return ofCells(column, (cell) => wanted.every((id) => elementsOf(cell).includes(id)) === want);
  }
  if (op === 'in') return ofCells(column, (cell) => elementsOf(cell).some((id) => wanted.includes(id)));
  if (op !== 'eq' && op !== 'neq') throw refuseOp(column, op);
  const same = (ids: readonly string[]) => ids.length === wanted.length && ids.every((id) => wanted.includes(id));
  return ofCells(column, (cell) => same(elementsOf(cell)) === (op === 'eq'));
}

/** Tests a computed cell by its actual type: numbers as numbers, flags as flags, all else as text. */
function computedTest(column: Column, op: Op, value: unknown): Test {
  if (typeof value === 'number' && COMPARES[op] !== undefined) {
    const compare = COMPARES[op];
    return ofCells(column, (cell) => (typeof cell === 'number' ? compare(cell, value) : op === 'neq'));
  }
  if (typeof value === 'boolean') {
    if (op !== 'eq' && op !== 'neq') throw refuseOp(column, op);
    return ofCells(column, (cell) => (cell === value) === (op === 'eq'));
  }
  if (op === 'in' && Array.isArray(value)) return ofCells(column, (cell) => value.includes(cell));
  return textTest({ ...column, type: 'text' }, op === 'before' ? 'lt' : op === 'after' ? 'gt' : op, value);
}

/**
 * Returns the value that a condition's text denotes in a column: the id of a choice with that id or name, else the
 * text.
 */
function wantedText(column: Column, text: string): string {
  return column.options.choices === undefined ? text : (choiceId(column, text) ?? text);
}

function choiceNames({ options }: Column): (cell: Cell) => string {
  const names = new Map(options.choices?.map(({ id, name }) => [id, name]));
  return (cell) => {
    const text = plainText(cell) ?? '';
    return names.get(text) ?? text;
  };
}

function listOf<T>(value: unknown, read: (item: unknown) => T | undefined): T[] {
  if (!Array.isArray(value) || value.length > 1000)
    throw invalidFilter('must have a list of at most 1,000 values for in.');
  return value.map((item: unknown) => {
    const known = read(item);
    if (known === undefined) throw invalidFilter('must compare with values of the type of the column.');
    return known;
  });
}
