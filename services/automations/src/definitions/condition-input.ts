import type { Faults } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { enumValue, specifiedName } from '@commonplace/platform/enums';
import type {
  AutomationCondition,
  SimpleCondition as WireCondition,
} from '@commonplace/proto/automations/v1/automation.js';
import { ConditionOp as WireOp } from '@commonplace/proto/automations/v1/automation.js';
import { conditionFault, MAX_CONDITIONS } from '../domain/conditions.js';
import { parsePath } from '../domain/path.js';
import type { ConditionOp, SimpleCondition, StoredCondition } from './records.js';

const OPS: ReadonlySet<string> = new Set(
  Object.values(WireOp).flatMap((op) => specifiedName<ConditionOp>(op, 'CONDITION_OP') ?? []),
);

/** Returns why a condition must not read a path, as a sentence without its subject; undefined if it may. */
type CheckPath = (path: readonly string[]) => string | undefined;

/** Converts the conditions of a request into the plain JSON that the config of an action contains. */
export function plainConditions(conditions: readonly AutomationCondition[]): unknown[] {
  const plain = ({ path, op, value }: WireCondition) => ({
    ...(path !== '' && { path }),
    ...(specifiedName(op, 'CONDITION_OP') !== undefined && { op: specifiedName(op, 'CONDITION_OP') }),
    ...(value.length > 0 && { value: JSON.parse(value.toString()) as unknown }),
  });
  return conditions.map((one) => ({ ...plain(one), ...(one.any.length > 0 && { any: one.any.map(plain) }) }));
}

/** Checks conditions in plain JSON. Returns the valid ones and adds a fault for each other one. */
export function readConditions(
  given: readonly unknown[],
  param: string,
  check: CheckPath,
  faults: Faults,
): StoredCondition[] {
  return given.flatMap((one, index) => readCondition(one, `${param}[${index}]`, check, faults) ?? []);
}

function readCondition(given: unknown, param: string, check: CheckPath, faults: Faults): StoredCondition | undefined {
  if (!isObject(given) || !Object.hasOwn(given, 'any')) return readSimple(given, param, check, faults);
  const { any, ...beside } = given;
  if (Object.keys(beside).length > 0) {
    return faults.add(
      `${param}.any`,
      'ambiguous_target',
      'stands alone: path, op and value belong to the conditions in it.',
    );
  }
  if (!Array.isArray(any) || any.length === 0 || any.length > MAX_CONDITIONS) {
    return faults.add(`${param}.any`, 'invalid_value', `must be a list of 1 to ${MAX_CONDITIONS} conditions.`);
  }
  return { any: any.flatMap((one, index) => readSimple(one, `${param}.any[${index}]`, check, faults) ?? []) };
}

const FIELDS = ['path', 'op', 'value'];

function readSimple(given: unknown, param: string, check: CheckPath, faults: Faults): SimpleCondition | undefined {
  if (!isObject(given)) return faults.add(param, 'invalid_type', 'must be an object of path, op and value.');
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    return faults.add(
      `${param}.${unknown.slice(0, 64)}`,
      'unknown_field',
      'is not a field of a condition, which has path, op and value.',
    );
  }
  const { path, op, value } = given;
  if (typeof path !== 'string' || path === '') return faults.add(`${param}.path`, 'missing_field', 'is required.');
  if (typeof op !== 'string' || !OPS.has(op)) {
    const code = op === undefined ? 'missing_field' : 'invalid_value';
    return faults.add(`${param}.op`, code, `must be one of ${[...OPS].join(', ')}.`);
  }
  const condition = { path, op: op as ConditionOp, ...(value !== undefined && { value }) };
  const fault = conditionFault(condition);
  if (fault !== undefined) return faults.add(`${param}.${fault.at}`, 'invalid_value', fault.message);
  const refused = check(parsePath(path));
  return refused === undefined ? condition : faults.add(`${param}.path`, 'invalid_template', refused);
}

/** Converts stored conditions into messages of the API. */
export function conditionMessages(conditions: readonly StoredCondition[]): AutomationCondition[] {
  const simple = ({ path, op, value }: SimpleCondition): WireCondition => ({
    path,
    op: enumValue(WireOp, op),
    value: value === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(value)),
  });
  const group = { path: '', op: WireOp.UNSPECIFIED, value: Buffer.alloc(0) };
  return conditions.map((one) => ('any' in one ? { ...group, any: one.any.map(simple) } : { ...simple(one), any: [] }));
}
