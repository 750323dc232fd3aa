import { type Column, PLAIN_COLUMN } from '../tables/column.js';
import { bindFields, type ColumnsPlan } from './columns.js';
import type { FormField } from './field.js';
import type { FindMismatches } from './patterns.js';
import type { FormFaults } from './reader.js';
import { type AnswerPattern, readValues } from './values.js';

/** The fields of a form with their columns, and the table's columns as they are before the form is saved. */
interface PlannedFields extends ColumnsPlan {
  readonly tenant: string;
  readonly present: readonly Column[];
}

/**
 * Adds a fault for each default that its field would refuse as an answer: submissions without a value would be refused
 * for what their senders have not written. Fields that have other faults are left out.
 */
export async function checkDefaults(
  planned: PlannedFields,
  findMismatches: FindMismatches,
  faults: FormFaults,
): Promise<void> {
  const columns = columnsAfter(planned);
  const patterns: AnswerPattern[] = [];
  for (const [i, field] of planned.fields.entries()) {
    const at = `config.fields[${i}].`;
    if (field.default === undefined || faults.list.some(({ param }) => param.startsWith(at))) continue;
    const param = `${at}default`;
    const { answers, faults: found } = answerByDefault(field, columns);
    for (const { code, message } of found) faults.add(param, code, message);
    patterns.push(...answers.patterns.map((one) => ({ ...one, param })));
  }
  for (const { param, code, message } of await findMismatches(planned.tenant, patterns))
    faults.add(param, code, message);
}

/** Returns whether a field accepts its own default; a pattern is not matched. */
export function acceptsDefault(field: FormField, columns: readonly Column[]): boolean {
  return field.default === undefined || answerByDefault(field, columns).faults.length === 0;
}

/** Reads the default of a field as the only answer of a form. */
function answerByDefault({ visible_if: _, required: __, ...field }: FormField, columns: readonly Column[]) {
  const { fields, disabled } = bindFields({ fields: [field] }, columns);
  return readValues(fields, disabled, { [field.id]: field.default });
}

/** Returns the table's columns as they will be once those that the form needs are written. */
function columnsAfter({ present, columns: written }: PlannedFields): Column[] {
  const after = new Map(present.map((column) => [column.id, column]));
  for (const { id, name, type, options } of written as readonly Partial<Column>[]) {
    const before = after.get(id as string);
    const choices = options?.choices?.map((choice) => ({ ...choice, id: choice.id ?? choice.name }));
    const all = { ...before?.options, ...options, ...(choices && { choices }) };
    after.set(id as string, { ...PLAIN_COLUMN, ...before, ...(type && { type }), id, name, options: all } as Column);
  }
  return [...after.values()];
}
