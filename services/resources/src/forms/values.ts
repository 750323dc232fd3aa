import type { Fault } from '@commonplace/kit/errors';
import { isLongerThan } from '@commonplace/kit/words';
import type { PatternCheck } from '../patterns/match.js';
import { isEmpty, takeCell } from '../tables/cells.js';
import { choiceId } from '../tables/choices.js';
import { type Cell, type Column, type ColumnType, PLAIN_COLUMN } from '../tables/column.js';
import { type Binding, type BoundField, choiceOf, createNamedField } from './columns.js';
import { holds } from './conditions.js';
import type { FieldOption, FormField } from './field.js';
import { isChoice, isNumberField, isTextField } from './field-types.js';
import { type FileAnswer, readFiles } from './file-answers.js';
import { createFormFaults, type FormFaults } from './reader.js';

/** The validated and converted values of a submission. */
export interface Answers {
  /** Values by field id, as events contain them: choices by their values. Files are added once they are stored. */
  readonly values: Record<string, unknown>;
  /** Cells by column id, as the table takes them. */
  readonly cells: Record<string, unknown>;
  readonly files: readonly FieldFiles[];
  /** Texts that must still be matched against the patterns of their fields. */
  readonly patterns: readonly AnswerPattern[];
  /** Labels of disabled fields that were answered; no column takes their values. */
  readonly unstored: readonly string[];
}

export interface AnswerPattern extends PatternCheck {
  readonly param: string;
}

interface FieldFiles {
  readonly field: BoundField;
  readonly answers: readonly FileAnswer[];
}

const MAX_FILES = 10;
/** Maximum bytes of a submission's values, without the contents of files. */
export const MAX_VALUES_BYTES = 1024 * 1024;

/**
 * Validates and converts the values of a submission; keys are ids of fields, of their columns, or labels. Values of fields that
 * a condition hides are dropped, as are those of disabled fields, and missing values get the field's default. Returns the
 * valid answers beside all faults. Leaves patterns to `takeAnswers`, as matching them is work for a worker thread.
 */
export function readValues(
  fields: readonly BoundField[],
  disabled: Binding['disabled'],
  given: Readonly<Record<string, unknown>>,
): { readonly answers: Answers; readonly faults: readonly Fault[] } {
  const faults = createFormFaults();
  const { raw, unstored } = byField(fields, disabled, given, faults);
  const taken = new Map<string, TakenValue>();
  const values: Record<string, unknown> = {};
  const cells: Record<string, unknown> = {};
  const files: FieldFiles[] = [];
  const patterns: AnswerPattern[] = [];
  const unticked = new Set<string>();
  const answerOf = (id: string): unknown => (unticked.has(id) ? false : taken.get(id)?.answer);
  // A field may depend on a field that comes after it.
  for (const field of inOrder(fields)) {
    if (field.visible_if !== undefined && !holds(field.visible_if, answerOf(field.visible_if.field_id))) continue;
    const { column } = field;
    if (column === undefined) continue;
    const value = raw.has(field.id) ? raw.get(field.id) : field.default;
    const param = `values.${field.id}`;
    const one = takeValue(field, column, value, param, faults);
    if (one === undefined) continue;
    if (one.answer === undefined) {
      if (field.type === 'checkbox') unticked.add(field.id);
      if (field.required === true) faults.add(param, 'missing_field', `${field.label} is required.`);
      continue;
    }
    taken.set(field.id, one);
  }
  for (const field of fields) {
    const one = taken.get(field.id);
    if (one === undefined || field.column === undefined) continue;
    if (one.files !== undefined) files.push({ field, answers: one.files });
    else {
      values[field.id] = one.answer;
      cells[field.column.id] = one.cell;
      if (one.pattern !== undefined) patterns.push({ param: `values.${field.id}`, ...one.pattern });
    }
  }
  const count = files.reduce((sum, { answers }) => sum + answers.length, 0);
  if (count > MAX_FILES) faults.add('values', 'too_many_items', `A submission has at most ${MAX_FILES} files.`);
  return { answers: { values, cells, files, patterns, unstored }, faults: faults.list };
}

interface TakenValue {
  /** Undefined if nothing was answered. */
  readonly answer: unknown;
  readonly cell?: unknown;
  readonly files?: readonly FileAnswer[];
  readonly pattern?: PatternCheck;
}

const NOTHING: TakenValue = { answer: undefined };

interface ValuesByField {
  readonly raw: ReadonlyMap<string, unknown>;
  readonly unstored: readonly string[];
}

/** Returns the values by field id, whether they came under the field's id, its column's or its label. */
function byField(
  fields: readonly BoundField[],
  disabled: Binding['disabled'],
  given: Readonly<Record<string, unknown>>,
  faults: FormFaults,
): ValuesByField {
  const byId = new Map(fields.map((field) => [field.id, field]));
  const namedField = createNamedField(fields);
  const disabledField = createDisabledField(disabled);
  const raw = new Map<string, unknown>();
  const unstored = new Set<string>();
  for (const [key, value] of Object.entries(given)) {
    const param = `values.${key}`;
    const field = byId.get(key) ?? namedField(key);
    if (field === undefined) {
      const off = disabledField(key);
      if (off === undefined) faults.add(param, 'unknown_field', 'The form has no such field.');
      else if (!isUnanswered(value)) unstored.add(off.label);
    } else if (field.type === 'statement') {
      if (value !== null) faults.add(param, 'unknown_field', 'A statement cannot be answered.');
    } else if (raw.has(field.id)) {
      faults.add(
        param,
        'conflicting_alias',
        `The value of ${field.id} is given twice, by two of its id, column and label.`,
      );
    } else raw.set(field.id, value ?? undefined);
  }
  return { raw, unstored: [...unstored] };
}

/** Returns the function that finds the disabled field that a key names, by the field's id, its column's or its label. */
function createDisabledField(disabled: Binding['disabled']): (key: string) => FormField | undefined {
  const named = new Map<string, FormField>();
  for (const field of disabled.values()) {
    named.set(field.label.toLowerCase(), field);
    if (field.column_id !== undefined) named.set(field.column_id, field);
  }
  return (key) => disabled.get(key) ?? named.get(key) ?? named.get(key.toLowerCase());
}

const isUnanswered = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Orders the fields so that each comes after the field that its condition refers to. */
function inOrder(fields: readonly BoundField[]): BoundField[] {
  const byId = new Map(fields.map((field) => [field.id, field]));
  const done = new Set<string>();
  const ordered: BoundField[] = [];
  const put = (field: BoundField): void => {
    if (done.has(field.id)) return;
    done.add(field.id);
    const asked = field.visible_if && byId.get(field.visible_if.field_id);
    if (asked !== undefined) put(asked);
    ordered.push(field);
  };
  for (const field of fields) put(field);
  return ordered;
}

/** Converts one value. Returns undefined if it added a fault. */
function takeValue(
  field: BoundField,
  column: Column,
  value: unknown,
  param: string,
  faults: FormFaults,
): TakenValue | undefined {
  const { type } = field;
  if (isUnanswered(value)) return NOTHING;
  if (hasNul(value)) return faults.add(param, 'invalid_value', 'must not have NUL characters.');
  if (type === 'file' || (type === 'signature' && column.type === 'attachment')) {
    const files = readFiles(value, field, param, faults);
    return files && (files.length === 0 ? NOTHING : { answer: files.map(({ name }) => name), files });
  }
  if (isChoice(type)) return takeOptions(field, column, value, param, faults);
  if (type === 'checkbox') return takeFlag(field, column, value, param, faults);
  if (type === 'hidden') return intoColumn(value, column, param, faults);
  if (typeof value === 'object' || (typeof value === 'boolean' && type !== 'short_text' && type !== 'long_text'))
    return faults.add(param, 'invalid_type', `must be ${isNumberField(type) ? 'a number' : 'a text'}.`);
  const plain = takeCell(value, plainColumn(type, field), TAKING);
  if (!('cell' in plain)) return faults.add(param, 'invalid_value', plain.message);
  if (isEmpty(plain.cell)) return NOTHING;
  // Blanks are no answer to a question that must be answered.
  if (field.required === true && String(plain.cell).trim() === '') return NOTHING;
  const wrong = isTextField(type) ? textFault(field, String(plain.cell)) : numberFault(field, plain.cell);
  if (wrong !== undefined) return faults.add(param, 'invalid_value', wrong);
  const taken = intoColumn(plain.cell, column, param, faults);
  const { pattern } = field;
  return taken === undefined || pattern === undefined || !isTextField(type)
    ? taken
    : { ...taken, pattern: { pattern, text: String(plain.cell) } };
}

/** Returns whether a text, or one of a list, has a NUL, which no stored text may contain. The page of a form passes it on. */
function hasNul(value: unknown): boolean {
  return [value].flat().some((one) => typeof one === 'string' && one.includes('\u0000'));
}

const TAKING = { typecast: true, choice: () => undefined };

const PLAIN: Partial<Record<BoundField['type'], ColumnType>> = {
  email: 'email',
  url: 'url',
  phone: 'phone',
  number: 'number',
  currency: 'currency',
  rating: 'number',
  scale: 'number',
  date: 'date',
  datetime: 'datetime',
};

/** Returns a column that accepts what a field of this type accepts, independently of its actual column. */
function plainColumn(type: BoundField['type'], { min, max }: BoundField): Column {
  const options = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
  return { ...PLAIN_COLUMN, type: PLAIN[type] ?? 'long_text', options: isNumberField(type) ? options : {} };
}

function textFault({ type, min_length: min, max_length: max }: BoundField, text: string): string | undefined {
  if (min !== undefined && !isLongerThan(text, min - 1)) return `must have ${min} characters or more.`;
  if (max !== undefined && isLongerThan(text, max)) return `must have ${max} characters or fewer.`;
  if (type === 'short_text' && /[\r\n]/.test(text)) return 'must be one line.';
  return undefined;
}

function numberFault({ type, min, max }: BoundField, cell: Cell): string | undefined {
  if (type !== 'rating' && type !== 'scale') return undefined;
  const [lowest, highest] = [min ?? (type === 'rating' ? 1 : 0), max ?? (type === 'rating' ? 5 : 10)];
  const fits = Number.isInteger(cell) && (cell as number) >= lowest && (cell as number) <= highest;
  return fits ? undefined : `must be a whole number from ${lowest} to ${highest}.`;
}

function takeFlag(field: BoundField, column: Column, value: unknown, param: string, faults: FormFaults) {
  const taken = takeCell(value, column, TAKING);
  if (!('cell' in taken)) return faults.add(param, 'invalid_type', taken.message);
  // A required checkbox must be ticked, as it asks for consent.
  if (taken.cell === false && field.required === true) return NOTHING;
  return { answer: taken.cell, cell: taken.cell };
}

function takeOptions(field: BoundField, column: Column, value: unknown, param: string, faults: FormFaults) {
  const options = field.options ?? [];
  const many = field.type === 'multi_choice';
  const asked = Array.isArray(value) ? value : [value];
  if (!many && asked.length > 1) return faults.add(param, 'invalid_type', 'must be one choice.');
  const named = optionsByName(options);
  const found = new Set<FieldOption>();
  for (const one of asked) {
    const options_ = findOptions(named, one, many);
    if (options_ === undefined) return faults.add(param, 'invalid_value', `has no choice ${shorten(one)}.`);
    for (const option of options_) found.add(option);
  }
  const chosen = [...found];
  const answer = many ? chosen.map((option) => option.value) : chosen[0]?.value;
  if (column.type !== 'select' && column.type !== 'multi_select') {
    const text = chosen.map((option) => option.value).join(', ');
    const taken = takeCell(text, column, TAKING);
    return 'cell' in taken ? { answer, cell: taken.cell } : faults.add(param, 'invalid_value', taken.message);
  }
  const ids: string[] = [];
  for (const option of chosen) {
    const id = choiceOf(option, column);
    if (id === undefined)
      return faults.add(param, 'invalid_value', `${shorten(option.label)} can no longer be chosen.`);
    ids.push(id);
  }
  return { answer, cell: column.type === 'select' ? ids[0] : ids };
}

/**
 * Returns the options that a text names by id, value or label. If the text names none itself, it is split at commas.
 */
function findOptions(
  named: ReadonlyMap<string, FieldOption>,
  given: unknown,
  many: boolean,
): FieldOption[] | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined;
  const text = String(given);
  const one = named.get(text);
  if (one !== undefined || !many) return one && [one];
  const several = text.split(',').map((part) => named.get(part.trim()));
  return several.every((option) => option !== undefined) ? several : undefined;
}

/**
 * Returns the options by id, else by value, else by label, the first of each, as `namedOption` finds one. A submission may name
 * a hundred thousand.
 */
function optionsByName(options: readonly FieldOption[]): ReadonlyMap<string, FieldOption> {
  const named = new Map<string, FieldOption>();
  for (const key of ['label', 'value', 'id'] as const) {
    for (const option of options.toReversed()) named.set(option[key], option);
  }
  return named;
}

const shorten = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
};

/** Converts a value by the rules of its column. */
function intoColumn(value: unknown, column: Column, param: string, faults: FormFaults): TakenValue | undefined {
  const taken = takeCell(value, column, { typecast: true, choice: choiceId });
  if (!('cell' in taken)) return faults.add(param, 'invalid_value', taken.message);
  return isEmpty(taken.cell) ? NOTHING : { answer: taken.cell, cell: taken.cell };
}
