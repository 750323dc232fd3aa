import { newId } from '@commonplace/kit/id';
import { isObject } from '@commonplace/kit/json';
import { canonicalTimezone } from '@commonplace/kit/timezone';
import { isLongerThan } from '@commonplace/kit/words';
import type { Choice, ColumnOptions, ColumnType } from './column.js';
import type { Faults } from './faults.js';
import { checkExpression } from './formula.js';
import { MAX_CELL_TEXT, MAX_CHOICES, MAX_EXPRESSION } from './limits.js';

type Check = (value: unknown) => unknown;

const whole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max ? value : undefined;
const number: Check = (value) => (Number.isFinite(value) ? value : undefined);
const flag: Check = (value) => (typeof value === 'boolean' ? value : undefined);
const text =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value) ? value : undefined;
const oneOf =
  (...words: string[]): Check =>
  (value) =>
    words.includes(value as string) ? value : undefined;
const ID = text(/^[A-Za-z0-9_-]{1,64}$/);
const IS_UUID = text(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
const UUID: Check = (value) => (IS_UUID(value) as string | undefined)?.toLowerCase();
const ZONE: Check = (value) => {
  try {
    if (typeof value !== 'string') return undefined;
    new Intl.DateTimeFormat('en', { timeZone: value });
    // An offset has no name, but may be a time zone of a column.
    return canonicalTimezone(value) ?? value;
  } catch {
    return undefined;
  }
};

const BOUNDS = { min: number, max: number, precision: whole(0, 8) };
const LINKED = { link_column_id: ID };

const ALLOWED: Partial<Record<ColumnType, Record<string, Check>>> = {
  text: { max_length: whole(1, MAX_CELL_TEXT) },
  long_text: { max_length: whole(1, MAX_CELL_TEXT) },
  url: { max_length: whole(1, MAX_CELL_TEXT) },
  number: BOUNDS,
  currency: { ...BOUNDS, currency: text(/^[A-Z]{3}$/) },
  percent: BOUNDS,
  rating: { max: whole(1, 10) },
  duration: BOUNDS,
  datetime: { timezone: ZONE },
  date: { timezone: ZONE },
  user: { many: flag },
  link: { many: flag, target_table_id: UUID, inverse_column_id: ID },
  resource: { many: flag },
  attachment: { many: flag },
  formula: { expression: text(new RegExp(`^[\\s\\S]{1,${MAX_EXPRESSION}}$`)), precision: whole(0, 8) },
  lookup: { ...LINKED, target_column_id: ID },
  rollup: {
    ...LINKED,
    target_column_id: ID,
    function: oneOf('sum', 'avg', 'min', 'max', 'count', 'count_unique', 'concat'),
    precision: whole(0, 8),
  },
  count: LINKED,
  created_at: { timezone: ZONE },
  updated_at: { timezone: ZONE },
};

const REQUIRED: Partial<Record<ColumnType, readonly string[]>> = {
  link: ['target_table_id'],
  formula: ['expression'],
  lookup: ['link_column_id', 'target_column_id'],
  rollup: ['link_column_id', 'target_column_id', 'function'],
  count: ['link_column_id'],
};

/** Validates the options of a column; null values are dropped. */
export function readOptions(
  given: Record<string, unknown>,
  type: ColumnType,
  before: ColumnOptions | undefined,
  param: string,
  faults: Faults,
): ColumnOptions {
  const allowed = ALLOWED[type] ?? {};
  const options: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (key === 'choices' && (type === 'select' || type === 'multi_select')) {
      options.choices = readChoices(value, before?.choices ?? [], `${param}.choices`, faults);
      continue;
    }
    const check = Object.hasOwn(allowed, key) ? allowed[key] : undefined;
    if (check === undefined)
      faults.add(`${param}.${key}`, 'unknown_field', `A column of type ${type} has no such option.`);
    else if (value !== null) {
      const checked = check(value);
      if (checked === undefined)
        faults.add(`${param}.${key}`, 'invalid_value', `${key} has a value that is not allowed.`);
      else options[key] = checked;
    }
  }
  for (const key of REQUIRED[type] ?? []) {
    if ((given[key] ?? null) === null)
      faults.add(`${param}.${key}`, 'missing_field', `A column of type ${type} needs ${key}.`);
  }
  checkBounds(options, type, before, param, faults);
  if (type === 'select' || type === 'multi_select') options.choices ??= [];
  if (typeof options.expression === 'string') {
    const problem = checkExpression(options.expression);
    if (problem !== undefined) faults.add(`${param}.expression`, 'invalid_value', problem);
  }
  return options;
}

/**
 * Adds a fault if no value can be within the bounds. Bounds that a column has already are kept, so that a table can be
 * written back as it was read.
 */
function checkBounds(
  { min, max }: ColumnOptions,
  type: ColumnType,
  before: ColumnOptions | undefined,
  param: string,
  faults: Faults,
): void {
  const lowest = min ?? (type === 'duration' ? 0 : undefined);
  if (lowest === undefined || max === undefined || lowest <= max) return;
  if (before?.min === min && before?.max === max) return;
  faults.add(`${param}.max`, 'invalid_value', `must not be less than min, which is ${lowest}.`);
}

/**
 * Validates choices. They are matched to the existing ones by id, else by name; a string is short for a choice with
 * that name.
 */
function readChoices(value: unknown, before: readonly Choice[], param: string, faults: Faults): Choice[] {
  if (!Array.isArray(value)) {
    faults.add(param, 'invalid_type', 'must be a list.');
    return [];
  }
  if (value.length > MAX_CHOICES) {
    faults.add(param, 'too_many_items', `must have ${MAX_CHOICES} items or fewer.`);
    return [];
  }
  const choices: Choice[] = [];
  const ids = new Set<string>();
  const names = new Set<string>();
  const known = indexOf(before);
  for (const [i, item] of (value as unknown[]).entries()) {
    const given = typeof item === 'string' ? { name: item } : item;
    const choice = isObject(given) ? readChoice(given, known, ids) : undefined;
    if (choice === undefined) {
      faults.add(
        `${param}[${i}]`,
        'invalid_value',
        'A choice must have a name of 1 to 255 characters, and may have an id and a color.',
      );
      continue;
    }
    if (ids.has(choice.id)) faults.add(`${param}[${i}].id`, 'invalid_value', 'The id of a choice occurs twice.');
    if (names.has(choice.name))
      faults.add(`${param}[${i}].name`, 'invalid_value', 'The name of a choice occurs twice.');
    ids.add(choice.id);
    names.add(choice.name);
    choices.push(choice);
  }
  return choices;
}

interface KnownChoices {
  readonly byId: ReadonlyMap<string, Choice>;
  /** The choices of each name, in order. */
  readonly byName: ReadonlyMap<string, readonly Choice[]>;
}

function indexOf(choices: readonly Choice[]): KnownChoices {
  const byName = new Map<string, Choice[]>();
  for (const choice of choices) {
    const named = byName.get(choice.name);
    if (named === undefined) byName.set(choice.name, [choice]);
    else named.push(choice);
  }
  return { byId: new Map(choices.map((choice) => [choice.id, choice])), byName };
}

function readChoice(given: Record<string, unknown>, known: KnownChoices, taken: ReadonlySet<string>) {
  const { id, name, color = null, ...rest } = given;
  if (Object.keys(rest).length > 0 || typeof name !== 'string') return undefined;
  const label = name.trim();
  if (label === '' || isLongerThan(label, 255)) return undefined;
  if (id !== undefined && ID(id) === undefined) return undefined;
  if (color !== null && (typeof color !== 'string' || color.length > 32)) return undefined;
  const old =
    id === undefined ? known.byName.get(label)?.find((one) => !taken.has(one.id)) : known.byId.get(id as string);
  return { id: (id as string | undefined) ?? old?.id ?? mintChoice(), name: label, color: color ?? old?.color ?? null };
}

/** Generates an id for a new choice. */
export function mintChoice(): string {
  return `opt_${newId().slice(-12)}`;
}
