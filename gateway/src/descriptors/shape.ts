import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import type { Contract } from './contract.js';

/** The form that one value of a field has in HTTP requests and answers. */
export type Element =
  | { readonly kind: 'string' | 'boolean' | 'number' | 'time' }
  | { readonly kind: 'mask' | 'page-request' }
  | { readonly kind: 'integer'; readonly least: number; readonly most: number }
  | { readonly kind: 'json'; readonly json: Json }
  | { readonly kind: 'enum'; readonly type: DescEnum }
  | { readonly kind: 'message' | 'page'; readonly type: DescMessage }
  /** A message with a single repeated field, which is written as a plain list. */
  | { readonly kind: 'wrapped'; readonly type: DescMessage; readonly list: FieldShape };

/**
 * Name of the field mask of requests that change a record: it names the fields of objects one by one. A mask with another
 * name names the fields of the body alone, so that null can mean something else than absent.
 */
export const UPDATE_MASK = 'update_mask';

/** A field, as transcoding in both directions and the OpenAPI document use it. */
export interface FieldShape {
  /** Name in the contract and in JSON: `workspace_id`. */
  readonly name: string;
  /** Name in the generated code: `workspaceId`. */
  readonly local: string;
  readonly cardinality: 'one' | 'list' | 'map';
  readonly element: Element;
  /** Whether an absent value differs from the type's empty value. */
  readonly optional: boolean;
  readonly rules: Rules;
  readonly descriptor: DescField;
}

/** Returns the fields of a message in the order of the contract. Throws if HTTP can't express a field. */
export function shapesOf(contract: Contract, message: DescMessage): FieldShape[] {
  return message.fields.map((field) => shapeOf(contract, field));
}

function shapeOf(contract: Contract, field: DescField): FieldShape {
  const rules = contract.rules(field);
  const cardinality = field.fieldKind === 'list' || field.fieldKind === 'map' ? field.fieldKind : 'one';
  if (field.fieldKind === 'map' && field.mapKey !== ScalarType.STRING)
    throw unsupported(field, 'keys that are strings');
  return {
    name: field.name,
    local: field.localName,
    cardinality,
    element: elementOf(contract, field, rules),
    optional: cardinality === 'one' && field.presence === FeatureSet_FieldPresence.EXPLICIT,
    rules,
    descriptor: field,
  };
}

function elementOf(contract: Contract, field: DescField, rules: Rules): Element {
  if (field.message !== undefined) return messageElement(contract, field, field.message, rules);
  if (field.enum !== undefined) return { kind: 'enum', type: field.enum };
  switch (field.scalar) {
    case ScalarType.STRING:
      return { kind: 'string' };
    case ScalarType.BOOL:
      return { kind: 'boolean' };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { kind: 'number' };
    case ScalarType.BYTES:
      if (rules.json === Json.UNSPECIFIED) throw unsupported(field, 'a `json` rule');
      return { kind: 'json', json: rules.json };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { kind: 'integer', least: 0, most: 2 ** 32 - 1 };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { kind: 'integer', least: 0, most: Number.MAX_SAFE_INTEGER };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { kind: 'integer', least: Number.MIN_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER };
    default:
      return { kind: 'integer', least: -(2 ** 31), most: 2 ** 31 - 1 };
  }
}

function messageElement(contract: Contract, field: DescField, type: DescMessage, rules: Rules): Element {
  switch (type.typeName) {
    case 'google.protobuf.Timestamp':
      return { kind: 'time' };
    case 'google.protobuf.FieldMask':
      return { kind: 'mask' };
    case 'commonplace.api.v1.PageRequest':
      return { kind: 'page-request' };
    case 'commonplace.api.v1.Page':
      return { kind: 'page', type };
  }
  if (type.typeName.startsWith('google.')) throw unsupported(field, 'a message of the product');
  if (!rules.unwrap) return { kind: 'message', type };
  const [inner, ...others] = type.fields;
  if (inner?.fieldKind !== 'list' || others.length > 0) throw unsupported(field, 'a message with one repeated field');
  const list = shapeOf(contract, inner);
  return { kind: 'wrapped', type, list: { ...list, rules: combineRules(rules, list.rules) } };
}

/** Returns the rules of a plain list: the list's own, overridden by the rules of the field that contains it. */
function combineRules(own: Rules, inner: Rules): Rules {
  const set = Object.entries(own).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : Boolean(value)));
  return { ...inner, ...Object.fromEntries(set) };
}

function unsupported(field: DescField, needed: string): Error {
  return new Error(`${field.parent.typeName}.${field.name} needs ${needed} for HTTP`);
}

/**
 * Maps names of an enum's values in the code (`RESOURCE_TYPE_DOCUMENT`) to their names on HTTP (`document`). The
 * unspecified value is left out.
 */
export function enumChoices(type: DescEnum): Map<string, string> {
  const choices = new Map<string, string>();
  const prefix = type.sharedPrefix ?? '';
  for (const value of type.values) {
    if (value.number !== 0) choices.set(value.name, value.name.slice(prefix.length).toLowerCase());
  }
  return choices;
}

/** Returns the name of the enum's value 0, which means absent. */
export function enumZero(type: DescEnum): string {
  return type.values.find((value) => value.number === 0)?.name ?? '';
}
