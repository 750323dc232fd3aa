import { foldName, isLongerThan } from '@commonplace/kit/words';
import { OPERATORS } from '@commonplace/proto/schemas.js';
import type { Condition, FormField } from './field.js';
import { type FormFaults, readObject } from './reader.js';

const ALONE: ReadonlySet<string> = new Set(['empty', 'not_empty']);
/** Values of a condition, as many as a field has options, and characters of each: all are compared at a submission. */
const MAX_VALUES = 500;
const MAX_VALUE_CHARS = 1000;
const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
const isTooLong = (value: unknown): boolean => typeof value === 'string' && isLongerThan(value, MAX_VALUE_CHARS);

export function readCondition(
  given: Readonly<Record<string, unknown>> | undefined,
  param: string,
  faults: FormFaults,
): Condition | undefined {
  if (given === undefined) return undefined;
  const read = readObject(given, param, faults);
  const fieldId = read.line('field_id', 64, true);
  const op = read.oneOf('op', OPERATORS, 'eq');
  const value = read.any('value');
  read.end();
  if (fieldId === undefined || op === undefined) return undefined;
  if (ALONE.has(op)) return { field_id: fieldId, op };
  const fits = op === 'in' ? Array.isArray(value) && value.every(isScalar) : isScalar(value);
  if (!fits) {
    const what = op === 'in' ? 'a list of texts, numbers or flags' : 'a text, a number, true or false';
    return faults.add(`${param}.value`, value === undefined ? 'missing_field' : 'invalid_type', `must be ${what}.`);
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.length > MAX_VALUES) {
    return faults.add(`${param}.value`, 'too_many_items', `must have ${MAX_VALUES} items or fewer.`);
  }
  if (values.some(isTooLong)) {
    return faults.add(`${param}.value`, 'invalid_value', `may have texts of at most ${MAX_VALUE_CHARS} characters.`);
  }
  return { field_id: fieldId, op, value };
}

/** Checks that each condition refers to another field that can be answered, and that no field depends on itself. */
export function checkConditions(fields: readonly FormField[], faults: FormFaults): void {
  const byId = new Map(fields.map((field) => [field.id, field]));
  for (const [i, field] of fields.entries()) {
    if (field.visible_if === undefined) continue;
    const param = `config.fields[${i}].visible_if.field_id`;
    const asked = byId.get(field.visible_if.field_id);
    if (asked === undefined || asked.type === 'statement') {
      faults.add(param, 'invalid_value', 'must be the id of a field that can be answered.');
    } else if (dependsOnItself(field, byId)) {
      faults.add(param, 'invalid_value', 'The conditions of these fields form a circle.');
    }
  }
}

function dependsOnItself(field: FormField, byId: ReadonlyMap<string, FormField>): boolean {
  const seen = new Set<string>();
  for (let at: FormField | undefined = field; at !== undefined; ) {
    if (seen.has(at.id)) return true;
    seen.add(at.id);
    at = at.visible_if === undefined ? undefined : byId.get(at.visible_if.field_id);
  }
  return false;
}

/**
 * Returns whether the answer to the field that a condition refers to fulfils it; undefined is no answer. False is the
 * answer of a box that is not ticked, which counts as empty.
 */
export function holds({ op, value }: Condition, answer: unknown): boolean {
  const answers = (Array.isArray(answer) ? answer : [answer]).filter((one) => one !== undefined && one !== '');
  const [first] = answers;
  const compared = (compare: (a: number | string, b: number | string) => boolean): boolean =>
    first !== undefined && comparable(first, value, compare);
  switch (op) {
    case 'empty':
      return answers.every((one) => one === false);
    case 'not_empty':
      return answers.some((one) => one !== false);
    case 'eq':
      return answers.some((one) => same(one, value));
    case 'neq':
      return !answers.some((one) => same(one, value));
    case 'in':
      return isAmong(answers, value as readonly unknown[]);
    case 'contains':
      return contains(answer, answers, value);
    case 'not_contains':
      return !contains(answer, answers, value);
    case 'gt':
    case 'after':
      return compared((a, b) => a > b);
    case 'gte':
      return compared((a, b) => a >= b);
    case 'lt':
    case 'before':
      return compared((a, b) => a < b);
    case 'lte':
      return compared((a, b) => a <= b);
  }
}

const fold = (value: unknown): string => foldName(String(value));

/** Compares texts without case. Flags and numbers equal their texts, as people write conditions. */
const same = (a: unknown, b: unknown): boolean => a === b || fold(a) === fold(b);

function isAmong(answers: readonly unknown[], values: readonly unknown[]): boolean {
  const folded = new Set(answers.map(fold));
  return values.some((one) => folded.has(fold(one)));
}

function contains(answer: unknown, answers: readonly unknown[], value: unknown): boolean {
  return Array.isArray(answer)
    ? answers.some((one) => same(one, value))
    : answers.some((one) => fold(one).includes(fold(value)));
}

function comparable(a: unknown, b: unknown, compare: (a: number | string, b: number | string) => boolean): boolean {
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return compare(x, y);
  // Compares dates and times as such if both are valid, and other values as texts.
  const [p, q] = [Date.parse(String(a)), Date.parse(String(b))];
  return Number.isNaN(p) || Number.isNaN(q) ? compare(String(a), String(b)) : compare(p, q);
}
