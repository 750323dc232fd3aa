import type { DescMessage } from '@bufbuild/protobuf';
import { type FieldShape, UPDATE_MASK } from '../descriptors/shape.js';
import type { Direction } from './values.js';

/**
 * Returns whether a field may be null. In an update, null clears a field if the rules allow it; in other requests it
 * means the same as an absent field, or is refused. In answers, lists and values that are always present are never null; a map is null
 * only if it is nullable and empty.
 */
export function isNullable(
  { cardinality, element, optional, rules, descriptor }: FieldShape,
  direction: Direction,
): boolean {
  if (direction === 'parameter') return false;
  if (direction === 'update') return rules.nullable;
  if (direction === 'input') return rules.nullable || !(hasMask(descriptor.parent) || rules.required || rules.notNull);
  if (cardinality !== 'one') return cardinality === 'map' && rules.nullable;
  if (rules.required) return false;
  return optional || NULL_WHEN_ABSENT.has(element.kind);
}

/** Returns whether a request has a field mask, which distinguishes null from absent. */
export function hasMask({ fields }: DescMessage): boolean {
  return fields.some(({ message }) => message?.typeName === 'google.protobuf.FieldMask');
}

/** Returns whether a request has a field mask that names the changed fields of objects, too. */
export function hasUpdateMask({ fields }: DescMessage): boolean {
  return fields.some(({ name }) => name === UPDATE_MASK);
}

const NULL_WHEN_ABSENT: ReadonlySet<string> = new Set(['json', 'time', 'message', 'wrapped']);
