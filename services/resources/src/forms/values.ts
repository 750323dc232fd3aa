import { AppError, type Fault } from '@commonplace/kit/errors';
import { isEmpty, takeCell } from '../tables/cells.js';
import type { Cell, Column, ColumnType } from '../tables/column.js';
import { type BoundField, choiceOf, namedOption } from './columns.js';
import { holds } from './conditions.js';
import type { FieldOption } from './config.js';
import { isChoice, isNumberField, isTextField } from './field-types.js';
import { type FileAnswer, readFiles } from './file-answers.js';
import { compilePattern, matchesPattern } from './pattern.js';
import { createFormFaults, type FormFaults } from './reader.js';

/** What a submission brings, checked and typed. */
export interface Answers {
  /** By field id, as events tell them: choices by their values. Files are put in once they are stored. */
  readonly values: Record<string, unknown>;
  /** By column id, as the table takes them. */
  readonly cells: Record<string, unknown>;
  readonly files: readonly FieldFiles[];
}

/** The files of one field. */
export interface FieldFiles {
  readonly field: BoundField;
  readonly answers: readonly FileAnswer[];
}

const MAX_FILES = 10;
/** Bytes of a submission's values, the contents of files apart. */
export const MAX_VALUES_BYTES = 1024 * 1024;

/** All that is wrong with a submission, in one error. */
export function submissionFaults(faults: readonly Fault[]): AppError {
  const [first] = faults;
  const message = faults.length === 1 ? (first?.message ?? '') : `${faults.length} fields are not valid.`;
  const param = faults.length === 1 ? { param: first?.param ?? 'values' } : {};
  return new AppError('INVALID_ARGUMENT', 'validation_failed', message, { ...param, faults: [...faults] });
}

/**
 * Checks and types the values of a submission: keys are ids of fields or of their columns. What is hidden by a
 * condition is dropped, what is missing has the field's default. Throws with every fault at once.
 */
export function takeValues(
  fields: readonly BoundField[],
  disabled: ReadonlySet<string>,
  given: Readonly<Record<string, unknown>>,
): Answers {
  const faults = createFormFaults();
  const raw = byField(fields, disabled, given, faults);
  const taken = new Map<string, Taken>();
  const answers: { values: Record<string, unknown>; cells: Record<string, unknown>; files: FieldFiles[] } = {
    values: {},
    cells: {},
    files: [],
  };
  const answerOf = (id: string): unknown => taken.get(id)?.answer;
  // A field may hang on one that stands behind it.
  for (const field of inOrder(fields)) {
    if (field.visible_if !== undefined && !holds(field.visible_if, answerOf(field.visible_if.field_id))) continue;
    const { column } = field;
    if (column === undefined) continue;
    const value = raw.has(field.id) ? raw.get(field.id) : field.default;
    const param = `values.${field.id}`;
    const one = takeValue(field, column, value, param, faults);
    if (one === undefined) continue;
    if (one.answer === undefined) {
      if (field.required === true) faults.add(param, 'missing_field', `${field.label} is required.`);
      continue;
    }
    taken.set(field.id, one);
  }
  for (const field of fields) {
    const one = taken.get(field.id);
    if (one === undefined || field.column === undefined) continue;
    if (one.files !== undefined) answers.files.push({ field, answers: one.files });
    else {
      answers.values[field.id] = one.answer;
      answers.cells[field.column.id] = one.cell;
    }
  }
  const count = answers.files.reduce((sum, { answers: files }) => sum + files.length, 0);
  if (count > MAX_FILES) faults.add('values', 'too_many_items', `A submission has ${MAX_FILES} files at the most.`);
  if (faults.list.length > 0) throw submissionFaults(faults.list);
  return answers;
}

interface Taken {
  /** Undefined where nothing was answered. */
  readonly answer: unknown;
  readonly cell?: unknown;
  readonly files?: readonly FileAnswer[];
}

const NOTHING: Taken = { answer: undefined };

/** Values by field, whichever id they came under. */
function byField(
  fields: readonly BoundField[],
  disabled: ReadonlySet<string>,
  given: Readonly<Record<string, unknown>>,
  faults: FormFaults,
): Map<string, unknown> {
  const byId = new Map(fields.map((field) => [field.id, field]));
  const byColumn = new Map(fields.flatMap((field) => (field.column === undefined ? [] : [[field.column.id, field]])));
  const raw = new Map<string, unknown>();
  for (const [key, value] of Object.entries(given)) {
    const param = `values.${key}`;
    const field = byId.get(key) ?? byColumn.get(key);
    if (field === undefined) {
      if (!disabled.has(key)) faults.add(param, 'unknown_field', 'The form has no such field.');
    } else if (field.type === 'statement') {
      if (value !== null) faults.add(param, 'unknown_field', 'A statement can not be answered.');
    } else if (raw.has(field.id)) {
      faults.add(param, 'conflicting_alias', `The value of ${field.id} is there twice, by field and by column.`);
    } else raw.set(field.id, value ?? undefined);
  }
  return raw;
}

/** Fields behind those that their conditions ask for. */
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

/** Undefined where a fault was noted. */
function takeValue(
  field: BoundField,
  column: Column,
  value: unknown,
  param: string,
  faults: FormFaults,
): Taken | undefined {
  const { type } = field;
  if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0))
    return NOTHING;
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
  const wrong = isTextField(type) ? textFault(field, String(plain.cell)) : numberFault(field, plain.cell);
  if (wrong !== undefined) return faults.add(param, 'invalid_value', wrong);
  return intoColumn(plain.cell, column, param, faults);
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

/** A column that takes what a field of this kind takes, whatever its own column is. */
function plainColumn(type: BoundField['type'], { min, max }: BoundField): Column {
  const options = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
  return {
    id: '',
    name: '',
    type: PLAIN[type] ?? 'long_text',
    description: null,
    options: isNumberField(type) ? options : {},
    required: false,
    unique: false,
    default: null,
    hidden: false,
    width: null,
    slot: 0,
  };
}

function textFault({ type, min_length: min, max_length: max, pattern }: BoundField, text: string): string | undefined {
  const length = [...text].length;
  if (min !== undefined && length < min) return `must have ${min} characters or more.`;
  if (max !== undefined && length > max) return `must have ${max} characters or fewer.`;
  if (type === 'short_text' && /[\r\n]/.test(text)) return 'must be one line.';
  const expression = pattern === undefined ? undefined : compilePattern(pattern);
  if (expression !== undefined && !matchesPattern(expression, text)) return 'does not have the form that is asked for.';
  return undefined;
}

function numberFault({ type, min, max }: BoundField, cell: Cell): string | undefined {
  if (type !== 'rating' && type !== 'scale') return undefined;
  const [least, most] = [min ?? (type === 'rating' ? 1 : 0), max ?? (type === 'rating' ? 5 : 10)];
  const fits = Number.isInteger(cell) && (cell as number) >= least && (cell as number) <= most;
  return fits ? undefined : `must be a whole number from ${least} to ${most}.`;
}

function takeFlag(field: BoundField, column: Column, value: unknown, param: string, faults: FormFaults) {
  const taken = takeCell(value, column, TAKING);
  if (!('cell' in taken)) return faults.add(param, 'invalid_type', taken.message);
  // Who has to consent has to tick.
  if (taken.cell === false && field.required === true) return NOTHING;
  return { answer: taken.cell, cell: taken.cell };
}

function takeOptions(field: BoundField, column: Column, value: unknown, param: string, faults: FormFaults) {
  const options = field.options ?? [];
  const many = field.type === 'multi_choice';
  const asked = Array.isArray(value) ? value : [value];
  if (!many && asked.length > 1) return faults.add(param, 'invalid_type', 'must be one choice.');
  const chosen: FieldOption[] = [];
  for (const one of asked) {
    const options_ = findOptions(options, one, many);
    if (options_ === undefined) return faults.add(param, 'invalid_value', `has no choice ${shorten(one)}.`);
    for (const option of options_) if (!chosen.includes(option)) chosen.push(option);
  }
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
      return faults.add(param, 'invalid_value', `${shorten(option.label)} can not be chosen any more.`);
    ids.push(id);
  }
  return { answer, cell: column.type === 'select' ? ids[0] : ids };
}

/** By id, value or label; several in one text where that is none by itself. */
function findOptions(options: readonly FieldOption[], given: unknown, many: boolean): FieldOption[] | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined;
  const find = (text: string) => namedOption(options, text);
  const text = String(given);
  const one = find(text);
  if (one !== undefined || !many) return one && [one];
  const several = text.split(',').map((part) => find(part.trim()));
  return several.every((option) => option !== undefined) ? several : undefined;
}

const shorten = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
};

/** A value as its column holds it, by the column's own rules. */
function intoColumn(value: unknown, column: Column, param: string, faults: FormFaults): Taken | undefined {
  const choice = ({ options }: Column, text: string) =>
    options.choices?.find(({ id, name }) => id === text || name === text)?.id;
  const taken = takeCell(value, column, { typecast: true, choice });
  if (!('cell' in taken)) return faults.add(param, 'invalid_value', taken.message);
  return isEmpty(taken.cell) ? NOTHING : { answer: taken.cell, cell: taken.cell };
}
