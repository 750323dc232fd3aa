import { newId } from '@commonplace/kit/id';
import { isObject } from '@commonplace/kit/json';
import { isLongerThan, trimLine } from '@commonplace/kit/words';
import { sameCell, takeCell } from './cells.js';
import { choiceId } from './choices.js';
import {
  type Cell,
  type Choice,
  COLUMN_TYPES,
  type Column,
  type ColumnType,
  isStored,
  isWritable,
  TYPE_ALIASES,
} from './column.js';
import { mintChoice, readOptions } from './column-options.js';
import type { Faults } from './faults.js';
import { followRenames } from './follow-renames.js';
import { MAX_CHOICES, MAX_COLUMNS } from './limits.js';
import type { Breathe } from './slices.js';

/** The columns after a write, and how existing values are converted to them. */
export interface ColumnPlan {
  readonly columns: readonly Column[];
  readonly primary: string;
  readonly nextSlot: number;
  /** The former columns whose values must be converted, by the id of the new column. */
  readonly conversions: ReadonlyMap<string, Column>;
  readonly removed: readonly Column[];
  /**
   * Adds a choice to a select column and returns its id; undefined if the column or the table has too many choices, or
   * the name is invalid.
   */
  addChoice(columnId: string, name: string): string | undefined;
  /** Returns the columns with the added choices. */
  settled(): readonly Column[];
}

interface OldColumns {
  readonly columns: readonly Column[];
  readonly primary: string;
  readonly nextSlot: number;
}

interface ColumnTerms {
  /** Whether old columns that are not mentioned stay. */
  readonly keepOthers: boolean;
  /** Maximum choices of all columns together; a table that has more keeps them, but gets no further ones. */
  readonly maxChoices: number;
  readonly breathe: Breathe;
}

const KEYS = new Set([
  'id',
  'name',
  'type',
  'description',
  'options',
  'required',
  'unique',
  'default',
  'hidden',
  'width',
  'is_primary',
]);
/** Cells are objects by column id, in which `__proto__` is no name of a value. */
const ID = /^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/;

/**
 * Parses and validates columns from a request. They are matched to the old ones by id, else by name; a property that is
 * absent keeps the value of the matched column.
 */
export async function planColumns(
  given: readonly unknown[],
  old: OldColumns,
  { keepOthers, maxChoices, breathe }: ColumnTerms,
  faults: Faults,
): Promise<ColumnPlan> {
  if (given.length === 0) faults.add('columns', 'empty_columns', 'A table must have at least one column.');
  // Further columns are not looked at: a request can name tens of thousands.
  if (given.length > MAX_COLUMNS) {
    addTooMany(faults);
    return keepColumns(old, maxChoices);
  }
  const mostChoices = Math.max(maxChoices, countChoices(old.columns));
  if (countChoices(given) > mostChoices) {
    addTooManyChoices(mostChoices, faults);
    return keepColumns(old, maxChoices);
  }
  const matched = matchColumns(given, old.columns, faults);
  const ids = new Set<string>();
  const conversions = new Map<string, Column>();
  const marked: string[] = [];
  const written: Column[] = [];
  let nextSlot = old.nextSlot;
  for (const [i, { entry, before }] of matched.entries()) {
    const param = `columns[${i}]`;
    const column = readColumn(entry, before, nextSlot, param, faults);
    if (ids.has(column.id))
      faults.add(`${param}.id`, 'duplicate_column_id', `The column id ${column.id} occurs twice.`);
    ids.add(column.id);
    if (column.slot === nextSlot) nextSlot++;
    if (before !== undefined && needsConversion(before, column)) conversions.set(column.id, before);
    if (entry.is_primary === true) marked.push(column.id);
    written.push(column);
    // A formula of 2,000 characters takes half a millisecond, and a request may have 500.
    await breathe();
  }
  const used = new Set(matched.map(({ before }) => before?.id));
  const others = old.columns.filter(({ id }) => !used.has(id));
  const all = keepOthers ? merge(old.columns, written) : written;
  const columns = await followRenames(all, old.columns, breathe);
  if (columns.length > MAX_COLUMNS) addTooMany(faults);
  if (countChoices(columns) > mostChoices) addTooManyChoices(mostChoices, faults);
  if (marked.length > 1) faults.add('columns', 'invalid_value', 'Only one column can be primary.');
  const kept = columns.some(({ id }) => id === old.primary) ? old.primary : undefined;
  const primary = marked[0] ?? kept ?? columns[0]?.id ?? '';
  return withChoices({ columns, primary, nextSlot, conversions, removed: keepOthers ? [] : others }, maxChoices);
}

function addTooMany(faults: Faults): void {
  faults.add('columns', 'too_many_items', `A table may have at most ${MAX_COLUMNS} columns.`);
}

function addTooManyChoices(most: number, faults: Faults): void {
  faults.add('columns', 'too_many_items', `The columns of a table may have at most ${most} choices in all.`);
}

/** Returns the number of choices of all columns, which may come from a request unchecked. */
function countChoices(columns: readonly unknown[]): number {
  let count = 0;
  for (const column of columns) {
    const options = isObject(column) ? column.options : undefined;
    const choices = isObject(options) ? options.choices : undefined;
    if (Array.isArray(choices)) count += choices.length;
  }
  return count;
}

/** Returns a plan that leaves all columns unchanged. */
export function keepColumns({ columns, primary, nextSlot }: OldColumns, maxChoices: number): ColumnPlan {
  return withChoices({ columns, primary, nextSlot, conversions: new Map(), removed: [] }, maxChoices);
}

function withChoices(plan: Omit<ColumnPlan, 'addChoice' | 'settled'>, maxChoices: number): ColumnPlan {
  const columns = new Map(plan.columns.map((column) => [column.id, column]));
  /** Added choices of each column, by name. */
  const added = new Map<string, Map<string, Choice>>();
  let count = countChoices(plan.columns);
  return {
    ...plan,
    addChoice(columnId, name) {
      const more = added.get(columnId) ?? new Map<string, Choice>();
      const label = name.trim();
      const known = more.get(label);
      if (known !== undefined) return known.id;
      if ((columns.get(columnId)?.options.choices?.length ?? 0) + more.size >= MAX_CHOICES) return undefined;
      if (count >= maxChoices || label === '' || label.length > 255) return undefined;
      const choice = { id: mintChoice(), name: label, color: null };
      count++;
      added.set(columnId, more.set(label, choice));
      return choice.id;
    },
    settled: () =>
      plan.columns.map((column) => {
        const more = added.get(column.id)?.values();
        if (more === undefined) return column;
        return { ...column, options: { ...column.options, choices: [...(column.options.choices ?? []), ...more] } };
      }),
  };
}

/** Merges columns: old ones in their positions, with the written ones replaced, followed by the new ones. */
function merge(old: readonly Column[], written: readonly Column[]): Column[] {
  const byId = new Map(written.map((column) => [column.id, column]));
  const known = new Set(old.map(({ id }) => id));
  return [...old.map((column) => byId.get(column.id) ?? column), ...written.filter(({ id }) => !known.has(id))];
}

interface Match {
  readonly entry: Record<string, unknown>;
  readonly before: Column | undefined;
}

function matchColumns(given: readonly unknown[], old: readonly Column[], faults: Faults): Match[] {
  const entries = given.map((entry, i) => {
    if (isObject(entry)) return entry;
    faults.add(`columns[${i}]`, 'invalid_type', 'must be an object.');
    return {};
  });
  const oldById = new Map<unknown, Column>(old.map((column) => [column.id, column]));
  const oldByName = new Map<unknown, Column[]>();
  for (const column of old) oldByName.set(column.name, [...(oldByName.get(column.name) ?? []), column]);
  const byId = entries.map(({ id }) => oldById.get(id));
  const taken = new Set(byId.flatMap((column) => column?.id ?? []));
  return entries.map((entry, i) => {
    const named = oldByName.get(entry.name)?.find(({ id }) => !taken.has(id));
    const before = byId[i] ?? (entry.id === undefined ? named : undefined);
    if (before !== undefined) taken.add(before.id);
    return { entry, before };
  });
}

function readColumn(
  entry: Record<string, unknown>,
  before: Column | undefined,
  nextSlot: number,
  param: string,
  faults: Faults,
): Column {
  for (const key of Object.keys(entry)) {
    if (!KEYS.has(key)) faults.add(`${param}.${key}`, 'unknown_field', 'A column has no such field.');
  }
  const flag = (key: 'required' | 'unique' | 'hidden'): boolean => {
    const value = entry[key] === undefined ? (before?.[key] ?? false) : (entry[key] ?? false);
    if (typeof value !== 'boolean') faults.add(`${param}.${key}`, 'invalid_type', 'must be true or false.');
    return value === true;
  };
  const primary = entry.is_primary ?? false;
  if (typeof primary !== 'boolean') faults.add(`${param}.is_primary`, 'invalid_type', 'must be true or false.');
  const type = readType(entry.type, before, param, faults);
  const sameType = type === before?.type;
  const given = entry.options ?? (sameType && entry.options === undefined ? before.options : {});
  if (!isObject(given)) faults.add(`${param}.options`, 'invalid_type', 'must be an object.');
  const options = isObject(given) ? readOptions(given, type, before?.options, `${param}.options`, faults) : {};
  const id = readId(entry.id, before, param, faults);
  const column: Column = {
    id,
    name: readName(entry.name, before, param, faults),
    type,
    description: readDescription(entry.description, before, param, faults),
    options,
    required: flag('required'),
    unique: flag('unique'),
    default: null,
    hidden: flag('hidden'),
    width: readWidth(entry.width, before, param, faults),
    slot: sameType && isStored(before) === isStored({ type, options }) ? before.slot : nextSlot,
  };
  checkUnique(column, param, faults);
  const fallback = entry.default === undefined ? (sameType ? before.default : null) : entry.default;
  return { ...column, default: readDefault(fallback, column, param, faults) };
}

function readType(value: unknown, before: Column | undefined, param: string, faults: Faults): ColumnType {
  if (value === undefined || value === null) return before?.type ?? 'text';
  const type = TYPE_ALIASES.get(value as string) ?? COLUMN_TYPES.find((name) => name === value);
  if (type === undefined)
    faults.add(`${param}.type`, 'invalid_value', `type must be one of ${COLUMN_TYPES.join(', ')}.`);
  return type ?? 'text';
}

function readId(value: unknown, before: Column | undefined, param: string, faults: Faults): string {
  if (value === undefined || value === null) return before?.id ?? `col_${newId().slice(-12)}`;
  if (typeof value === 'string' && ID.test(value)) return value;
  faults.add(`${param}.id`, 'invalid_value', 'must have 1 to 64 letters, digits, _ or -, and not be __proto__.');
  return `col_${newId().slice(-12)}`;
}

function readName(value: unknown, before: Column | undefined, param: string, faults: Faults): string {
  const name = value === undefined ? before?.name : value;
  if (name === undefined) faults.add(`${param}.name`, 'missing_field', 'name is required.');
  else if (typeof name !== 'string') faults.add(`${param}.name`, 'invalid_type', 'must be a string.');
  else if (name === before?.name) return name;
  else {
    const trimmed = trimLine(name);
    if (trimmed !== '' && !isLongerThan(trimmed, 255) && !/\p{Cc}/u.test(trimmed)) return trimmed;
    faults.add(`${param}.name`, 'invalid_value', 'must have 1 to 255 characters, and no control characters.');
  }
  return '';
}

function readDescription(value: unknown, before: Column | undefined, param: string, faults: Faults): string | null {
  if (value === undefined) return before?.description ?? null;
  if (value === null || (typeof value === 'string' && !isLongerThan(value, 2000))) return value;
  return faults.add(`${param}.description`, 'invalid_value', 'must be a string of at most 2,000 characters.') ?? null;
}

function readWidth(value: unknown, before: Column | undefined, param: string, faults: Faults): number | null {
  if (value === undefined) return before?.width ?? null;
  if (value === null || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000)) {
    return value as number | null;
  }
  return faults.add(`${param}.width`, 'invalid_value', 'must be a whole number of pixels, 1 to 10000.') ?? null;
}

function checkUnique(column: Column, param: string, faults: Faults): void {
  const { type } = column;
  if (!isWritable(column)) {
    for (const key of ['required', 'unique'] as const) {
      if (column[key]) faults.add(`${param}.${key}`, 'invalid_value', `A column of type ${type} is read-only.`);
    }
  } else if (column.unique && (type === 'checkbox' || type === 'json')) {
    faults.add(`${param}.unique`, 'invalid_value', `A column of type ${type} cannot be unique.`);
  }
}

function readDefault(value: unknown, column: Column, param: string, faults: Faults): Cell {
  if (value === null) return null;
  if (!isWritable(column)) {
    return faults.add(`${param}.default`, 'invalid_value', 'A read-only column has no default.') ?? null;
  }
  const choice = (_: Column, text: string): string | undefined => choiceId(column, text);
  const taken = takeCell(value, column, { typecast: false, choice });
  if ('cell' in taken) return taken.cell;
  return faults.add(`${param}.default`, 'invalid_value', taken.message) ?? null;
}

/**
 * Returns whether values may be invalid for the new column. Values that a column computes or maintains become those of a
 * column that clients write; stored ones are lost where the new column has none of its own.
 */
function needsConversion(before: Column, after: Column): boolean {
  if (!isWritable(after)) return isStored(before) && (isWritable(before) || before.type !== after.type);
  if (before.type !== after.type || !isStored(before)) return true;
  const { options: was } = before;
  const { options: is } = after;
  const ids = new Set(is.choices?.map(({ id }) => id));
  if (was.choices?.some(({ id }) => !ids.has(id))) return true;
  return !sameCell(rules(was), rules(is));
}

/** Returns the options that constrain values. */
function rules({ max_length, min, max, many }: Column['options']): unknown {
  return [max_length ?? null, min ?? null, max ?? null, many ?? null];
}
