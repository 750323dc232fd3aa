import { isDeepStrictEqual } from 'node:util';
import type { Faults } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { type FieldPlan, type Message, type MessagePlan, otherNamesOf } from './plan.js';

/** Fields that a PATCH sets, as dotted paths of names in the contract. */
export interface Mask {
  readonly paths: string[];
  /** Path of the message being read, with a trailing dot; empty at the top. */
  readonly prefix: string;
  /** Whether objects in the body are new: their own fields are not named, and null in them means absent. */
  readonly hasNewObjects: boolean;
}

/** Reads an object within a body. With a mask, omitted fields stay unchanged. */
export function readMessage(plan: MessagePlan, value: unknown, param: string, faults: Faults, mask?: Mask): unknown {
  if (!isObject(value)) return faults.add(param, 'invalid_type', 'must be an object.');
  const message = plan.create();
  for (const key of Object.keys(value)) {
    const field = plan.keys.get(key);
    const at = `${param}.${key}`;
    if (field === undefined) faults.add(at, 'unknown_field', UNKNOWN);
    else readField(field, value, key, at, message, faults, mask);
  }
  if (mask === undefined) {
    for (const field of plan.fields) requireField(field, value, `${param}.`, faults);
  }
  return message;
}

/** Message of the fault for an unknown field. */
export const UNKNOWN = 'is not a field of this request.';

/** Reads one key of an object into the message. `at` is the key's own path. */
export function readField(
  field: FieldPlan,
  object: Record<string, unknown>,
  key: string,
  at: string,
  message: Message,
  faults: Faults,
  mask?: Mask,
): void {
  const value = object[key];
  if (key !== field.name && Object.hasOwn(object, field.name)) {
    if (!isDeepStrictEqual(value, object[field.name])) {
      faults.add(at, 'conflicting_alias', `and ${field.name} are the same field and have different values.`);
    }
    return;
  }
  if (value === null) {
    readNull(field, at, faults, mask);
    return;
  }
  if (mask !== undefined && field.nested !== undefined && !mask.hasNewObjects) {
    const inner = { ...mask, prefix: `${mask.prefix}${field.name}.` };
    message[field.local] = readMessage(field.nested, value, at, faults, inner);
    return;
  }
  mask?.paths.push(mask.prefix + field.name);
  message[field.local] = field.convert?.(value, at, faults);
}

/**
 * Reads null. With a mask, null clears a nullable field; without one it means the same as an absent field, unless that
 * would mean everything.
 */
function readNull({ name, rules }: FieldPlan, at: string, faults: Faults, mask: Mask | undefined): void {
  if (mask !== undefined && rules.nullable) mask.paths.push(mask.prefix + name);
  else if (mask === undefined ? rules.notNull : !rules.required || mask.prefix !== '')
    faults.add(at, 'invalid_value', 'must not be null.');
}

/** Adds a fault if an object lacks a required field. */
export function requireField(field: FieldPlan, object: Record<string, unknown>, prefix: string, faults: Faults): void {
  if (!field.rules.required) return;
  const given = (key: string) => Object.hasOwn(object, key) && object[key] !== null;
  if (![field.name, ...otherNamesOf(field.rules)].some(given)) {
    faults.add(prefix + field.name, 'missing_field', 'is required.');
  }
}
