import type { Warning } from '../content/kind.js';
import { isEmpty } from '../tables/cells.js';
import { type Column, findColumn, isWritable } from '../tables/column.js';
import { COLLECTED, dropAbsent, type FormConfig } from './config.js';
import type { FieldOption, FormField } from './field.js';
import { COLUMNS_OF, FIELD_OF, isChoice } from './field-types.js';
import type { FormFaults } from './reader.js';

/** A field with the current column that its answers are written to. */
export interface BoundField extends FormField {
  /** Undefined for a statement. */
  readonly column: Column | undefined;
  readonly options?: readonly FieldOption[];
}

/** The fields that can be answered, and by id those whose column was deleted or no longer takes their values. */
export interface Binding {
  readonly fields: readonly BoundField[];
  readonly disabled: ReadonlyMap<string, FormField>;
}

/** Binds a form's fields to the current columns of its table. */
export function bindFields(config: Pick<FormConfig, 'fields'>, columns: readonly Column[]): Binding {
  const disabled = new Map<string, FormField>();
  const fields = config.fields.flatMap((field): BoundField[] => {
    const column = columns.find(({ id }) => id === field.column_id);
    if (field.type === 'statement') return [{ ...field, column: undefined }];
    if (column !== undefined && fits(field, column)) return [withOptions(field, column)];
    disabled.set(field.id, field);
    return [];
  });
  const byId = new Map(fields.map((field) => [field.id, field]));
  return { fields: fields.map((field) => withOptionValues(field, byId)), disabled };
}

/**
 * Returns the function that finds the field that a key of a submission names: by the field's id, else its column's, else
 * its label, in which case does not matter if no label is spelled exactly so. A submission may have a hundred thousand
 * keys.
 */
export function createNamedField(fields: readonly BoundField[]): (key: string) => BoundField | undefined {
  const exact = new Map<string, BoundField>();
  const folded = new Map<string, BoundField>();
  // The first field of several with a name counts, and ids precede columns, which precede labels.
  const answered = fields.filter(({ column }) => column !== undefined).toReversed();
  for (const field of answered) folded.set(field.label.toLowerCase(), field);
  for (const field of answered) exact.set(field.label, field);
  for (const field of answered) exact.set((field.column as Column).id, field);
  for (const field of answered) exact.set(field.id, field);
  return (key) => exact.get(key) ?? folded.get(key.toLowerCase());
}

/** Returns the option that a text names, by id, else by value, else by label. */
function namedOption(options: readonly FieldOption[], text: string): FieldOption | undefined {
  return (
    options.find(({ id }) => id === text) ??
    options.find(({ value }) => value === text) ??
    options.find(({ label }) => label === text)
  );
}

/**
 * Replaces options in a field's condition by their values, because answers are compared by value. A condition may name
 * an option like an answer does, by id, value or label.
 */
function withOptionValues(field: BoundField, byId: ReadonlyMap<string, BoundField>): BoundField {
  const condition = field.visible_if;
  const options = condition && byId.get(condition.field_id)?.options;
  if (condition?.value === undefined || options === undefined) return field;
  const meant = (given: unknown): unknown => namedOption(options, String(given))?.value ?? given;
  const value = Array.isArray(condition.value) ? condition.value.map(meant) : meant(condition.value);
  return { ...field, visible_if: { ...condition, value } };
}

function fits(field: Pick<FormField, 'type' | 'id'>, column: Column): boolean {
  return isWritable(column) && COLUMNS_OF[field.type].includes(column.type);
}

function withOptions(field: FormField, column: Column): BoundField {
  if (!isChoice(field.type)) return { ...field, column };
  const options =
    field.options ?? (column.options.choices ?? []).map(({ id, name }) => ({ id, label: name, value: name }));
  return { ...field, column, options };
}

/** Returns one field for each writable column, in column order. */
export function fieldsFromColumns(columns: readonly Column[]): FormField[] {
  return columns.filter(isWritable).map((column) =>
    dropAbsent<FormField>({
      id: column.id,
      column_id: column.id,
      type: FIELD_OF[column.type] ?? 'short_text',
      label: column.name,
      help_text: column.description ?? undefined,
      required: (column.required && column.type !== 'checkbox') || undefined,
      default: column.default ?? undefined,
      max: column.type === 'rating' ? (column.options.max ?? 5) : undefined,
    }),
  );
}

/** Returns the fields with those that `collect` adds. */
export function withCollected(fields: readonly FormField[], { email, user }: FormConfig['collect']): FormField[] {
  const has = (id: string) => fields.some((field) => field.id === id);
  const all = [...fields];
  if (email && !has(COLLECTED.email)) {
    all.push({ id: COLLECTED.email, type: 'email', label: 'Your e-mail address', required: true });
  }
  if (user && !has(COLLECTED.user)) all.push({ id: COLLECTED.user, type: 'hidden', label: 'Respondent' });
  return all;
}

/** Fields with a column each, and the column definitions that the table still needs for them. */
export interface ColumnsPlan {
  readonly fields: readonly FormField[];
  /** Columns to write, in the form of a table write; empty if the table needs none. */
  readonly columns: readonly Record<string, unknown>[];
}

/**
 * Assigns a column to each field: the one that it names, else its former one, else a new one. Adds a fault for a column
 * that does not exist, is not writable, or does not fit the field's type.
 */
export function planFieldColumns(
  fields: readonly FormField[],
  before: readonly FormField[],
  columns: readonly Column[],
  faults: FormFaults,
): ColumnsPlan {
  const bound = new Set(fields.flatMap((field) => field.column_id ?? []));
  const taken = { ids: new Set(columns.map(({ id }) => id)), names: new Set(columns.map(({ name }) => name)) };
  const written: Record<string, unknown>[] = [];
  const planned = fields.map((field, i): FormField => {
    if (field.type === 'statement') return field;
    const named = field.column_id ?? formerColumn(field, before, columns, bound);
    if (named === undefined) {
      const column = newColumn(field, taken);
      written.push(column);
      return { ...field, column_id: column.id as string };
    }
    const column = findColumn(columns, named);
    const param = `config.fields[${i}]`;
    if (column === undefined) {
      // The column may have been deleted since: the field is saved unchanged and stays disabled.
      const known = before.some((old) => old.id === field.id && old.column_id === named);
      if (!known) faults.add(`${param}.column_id`, 'unknown_column', `The table has no column ${named}.`);
      return field;
    }
    if (!fits(field, column)) {
      const message = isWritable(column)
        ? `A field of type ${field.type} does not fit the column ${column.id} of type ${column.type}.`
        : `The column ${column.id} of type ${column.type} cannot be written.`;
      faults.add(`${param}.${isWritable(column) ? 'type' : 'column_id'}`, 'invalid_value', message);
    }
    const more = missingChoices(field, column);
    if (more.length > 0) {
      written.push({
        id: column.id,
        name: column.name,
        options: { choices: [...(column.options.choices ?? []), ...more] },
      });
    }
    return { ...field, column_id: column.id };
  });
  return { fields: planned, columns: written };
}

/**
 * Adds a fault for each column that requires a value but has neither a default nor a field, because the table would
 * refuse all submissions.
 */
export function requireRequiredColumns(
  fields: readonly FormField[],
  columns: readonly Column[],
  faults: FormFaults,
): void {
  for (const column of withoutField(fields, columns).filter(needsAnswer)) {
    const message = `The column ${column.id} requires a value and has no default, so the form must have a field for it.`;
    faults.add('config.fields', 'missing_field', message);
  }
}

/** Returns what a reader or a change of the table should know of a form whose fields no longer fit the columns. */
export function bindingWarnings({ fields, disabled }: Binding, columns: readonly Column[]): Warning[] {
  const warnings: Warning[] = [];
  if (disabled.size > 0) {
    const names = [...disabled.values()].map(({ label }) => label);
    const message = `Without a column that takes their values these fields are not asked: ${names.join(', ')}.`;
    warnings.push({ code: 'field_disabled', message });
  }
  const unasked = withoutField(fields, columns);
  const required = unasked.filter(needsAnswer);
  if (required.length > 0) {
    const message = `The table refuses all submissions: the form has no field for columns that require a value: ${namesOf(required)}.`;
    warnings.push({ code: 'submissions_refused', message });
  }
  const repeated = unasked.filter(({ unique, default: value }) => unique && !isEmpty(value));
  if (repeated.length > 0) {
    const message = `The table refuses all submissions but one: without a field, unique columns get their default each time: ${namesOf(repeated)}.`;
    warnings.push({ code: 'submissions_refused', message });
  }
  return warnings;
}

const namesOf = (columns: readonly Column[]): string => columns.map(({ id, name }) => `${name} (${id})`).join(', ');

const needsAnswer = (column: Column): boolean => column.required && isEmpty(column.default);

function withoutField(fields: readonly Pick<FormField, 'column_id'>[], columns: readonly Column[]): Column[] {
  const bound = new Set(fields.map((field) => field.column_id));
  return columns.filter((column) => isWritable(column) && !bound.has(column.id));
}

/** Returns whether a form asks for anything: once the columns of all of its fields are gone, its rows would be empty. */
export function isAnswerable({ fields, disabled }: Binding): boolean {
  return disabled.size === 0 || fields.some(({ column }) => column !== undefined);
}

function formerColumn(
  field: FormField,
  before: readonly FormField[],
  columns: readonly Column[],
  bound: ReadonlySet<string>,
): string | undefined {
  const id = before.find((old) => old.id === field.id)?.column_id;
  const column = columns.find((one) => one.id === id);
  return column !== undefined && fits(field, column) && !bound.has(column.id) ? column.id : undefined;
}

/** Defines a column from a field's type and label. Its id is the field's if that is free. */
function newColumn(
  field: FormField,
  taken: { readonly ids: Set<string>; readonly names: Set<string> },
): Record<string, unknown> {
  const unused = (text: string, used: ReadonlySet<string>, between: string): string => {
    for (let n = 1; ; n++) {
      const tried = n === 1 ? text : `${text}${between}${n}`;
      if (!used.has(tried)) return tried;
    }
  };
  const id = unused(field.id.slice(0, 58), taken.ids, '_');
  const name = unused(field.label.slice(0, 240), taken.names, ' ');
  taken.ids.add(id);
  taken.names.add(name);
  const [type] = field.id === COLLECTED.user ? ['user'] : field.type === 'hidden' ? ['text'] : COLUMNS_OF[field.type];
  const choices = isChoice(field.type)
    ? (field.options ?? []).map(({ id, label }) => ({ id, name: label }))
    : undefined;
  const options = dropAbsent<Record<string, unknown>>({
    choices,
    max: field.type === 'rating' ? Math.min(field.max ?? 5, 10) : undefined,
  });
  return { id, name, type, ...(Object.keys(options).length > 0 && { options }) };
}

/** Returns the choices that a select column lacks for the options of a field. */
function missingChoices(field: FormField, column: Column) {
  if (column.type !== 'select' && column.type !== 'multi_select') return [];
  const known = column.options.choices ?? [];
  return (field.options ?? [])
    .filter((option) => choiceOf(option, column) === undefined)
    .map(({ id, label }) => ({ ...(known.some((choice) => choice.id === id) ? {} : { id }), name: label }));
}

/** Returns the id of the select column's choice that an option corresponds to. */
export function choiceOf({ id, label, value }: FieldOption, column: Column): string | undefined {
  const choices = column.options.choices ?? [];
  const found =
    choices.find((choice) => choice.name === label || choice.name === value) ?? choices.find((one) => one.id === id);
  return found?.id;
}
