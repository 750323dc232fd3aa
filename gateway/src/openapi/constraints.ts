import type { DescMessage } from '@bufbuild/protobuf';
import { type Alternatives, type Condition, type Implication, Json } from '@commonplace/proto/api/v1/access.js';
import type { Contract } from '../descriptors/contract.js';
import type { FieldShape } from '../descriptors/shape.js';
import { otherNamesOf } from '../request/plan.js';
import { hasMask, isNullable } from './nullable.js';
import type { Schema } from './values.js';

/**
 * Returns the rules of a request's body that involve several fields: mutually exclusive spellings of a field, groups of
 * which one field is required or at most one is allowed, and, for an update, that it changes something.
 */
export function bodyConstraints(
  contract: Contract,
  message: DescMessage,
  shapes: readonly FieldShape[],
  updates: boolean,
): Schema {
  const given = new Map(shapes.map((shape) => [shape.name, givenSchema(shape)]));
  const groups = contract.alternatives(message).flatMap((group) => alternativesSchemas(group, given));
  const implied = contract.implications(message).map((rule) => implicationSchema(rule, given));
  const spellings = shapes.flatMap(({ name, rules }) =>
    otherNamesOf(rules).map((other) => ({ not: having({ [name]: {}, [other]: {} }) })),
  );
  const all: Schema[] = [
    ...spellings,
    ...groups,
    ...implied,
    ...(updates ? [changesSomething(message, shapes, given)] : []),
  ];
  return all.length > 0 ? { allOf: all } : {};
}

/** Returns the fields of a request that are allowed together with one of its fields, without that field. */
export function fieldsBeside(
  contract: Contract,
  message: DescMessage,
  shapes: readonly FieldShape[],
  name: string,
): FieldShape[] {
  const excluded = new Set([name, ...excludedBy(contract, message, name)]);
  return shapes.filter((shape) => !excluded.has(shape.name));
}

/**
 * Returns the rules that still apply between `fields` of a request when the field `name` is given and all others are
 * not. None of the fields is null, since parts of a body are not.
 */
export function constraintsBeside(
  contract: Contract,
  message: DescMessage,
  fields: readonly FieldShape[],
  name: string,
): Schema {
  const given = new Map(fields.map((shape) => [shape.name, givenSchema(shape, false)]));
  const isKnown = (one: string) => given.has(one);
  const groups = contract
    .alternatives(message)
    .filter((group) => !group.fields.includes(name))
    .map((group) => ({ ...group, fields: group.fields.filter(isKnown) }))
    .filter((group) => group.fields.length > 0)
    .flatMap((group) => alternativesSchemas(group, given));
  const implied = contract.implications(message).flatMap(({ when, then }): Schema[] => {
    if (when === undefined || then === undefined || then.given.includes(name)) return [];
    if (when.field === '' && !when.given.some(isKnown)) return [];
    const cause = conditionSchema({ ...when, given: when.given.filter(isKnown) }, given);
    const rest = { ...then, given: then.given.filter(isKnown) };
    const isPossible = rest.given.length > 0 || rest.field !== '' || rest.absent !== '';
    return [isPossible ? { anyOf: [{ not: cause }, conditionSchema(rest, given)] } : { not: cause }];
  });
  const all = [...groups, ...implied];
  return all.length > 0 ? { allOf: all } : {};
}

/** Describes an object that must have these fields. */
function having(properties: Readonly<Record<string, Schema>>): Schema {
  return { required: Object.keys(properties), properties };
}

/**
 * Describes a body that changes something: it has a field besides `base_version` and `dry_run`, which say when and how to
 * change something. Null is a change only if the request has a field mask.
 */
function changesSomething(
  message: DescMessage,
  shapes: readonly FieldShape[],
  given: ReadonlyMap<string, Schema>,
): Schema {
  const changes = shapes.filter(({ name }) => name !== 'dry_run');
  if (hasMask(message) && changes.length < shapes.length) {
    const names = changes.flatMap(({ name, rules }) => [name, ...otherNamesOf(rules)]);
    return anyOf(names.map((name) => ({ required: [name] })));
  }
  if (hasMask(message)) {
    return { anyOf: [{ minProperties: 2 }, { minProperties: 1, not: having({ base_version: {} }) }] };
  }
  return anyOf([...given.values()]);
}

/** Returns the sentence of a description that names the fields which this one excludes; empty if there are none. */
export function alternativesNote(contract: Contract, message: DescMessage, name: string): string {
  const others = excludedBy(contract, message, name);
  return others.size === 0 ? '' : `Excludes ${[...others].map((field) => `\`${field}\``).join(', ')}.`;
}

function excludedBy(contract: Contract, message: DescMessage, name: string): ReadonlySet<string> {
  const groups = contract
    .alternatives(message)
    .filter(({ fields, combinable }) => fields.includes(name) && !combinable);
  return new Set(groups.flatMap(({ fields }) => fields.filter((field) => field !== name)));
}

function alternativesSchemas(
  { fields, required, combinable }: Alternatives,
  given: ReadonlyMap<string, Schema>,
): Schema[] {
  const schemas = fields.map((name) => found(given, name));
  const schemasOf: Schema[] = required ? [anyOf(schemas)] : [];
  if (!combinable) {
    for (const [i, one] of schemas.entries()) {
      for (const other of schemas.slice(i + 1)) schemasOf.push({ not: { allOf: [one, other] } });
    }
  }
  return schemasOf;
}

function implicationSchema({ when, then }: Implication, given: ReadonlyMap<string, Schema>): Schema {
  return { anyOf: [{ not: conditionSchema(when, given) }, conditionSchema(then, given)] };
}

function conditionSchema(condition: Condition | undefined, given: ReadonlyMap<string, Schema>): Schema {
  if (condition === undefined) throw new Error('an implication needs both of its conditions');
  const { field, values, absent } = condition;
  const schemas = condition.given.map((name) => found(given, name));
  if (field !== '') schemas.push(having({ [field]: { enum: values } }));
  if (absent !== '') schemas.push({ not: found(given, absent) });
  return anyOf(schemas);
}

function anyOf(schemas: readonly Schema[]): Schema {
  const [only, ...others] = schemas;
  if (only === undefined) throw new Error('a rule between fields names none');
  return others.length === 0 ? only : { anyOf: schemas };
}

function found(given: ReadonlyMap<string, Schema>, name: string): Schema {
  const schema = given.get(name);
  if (schema === undefined) throw new Error(`the request has no field ${name}`);
  return schema;
}

/**
 * Describes an object in which a field counts as given: a list with items, a boolean that is true (or just present, if
 * absence does not mean false), or any other value; under any of its names.
 */
function givenSchema(shape: FieldShape, mayBeNull = isNullable(shape, 'input')): Schema {
  const { name, rules, cardinality, element, optional } = shape;
  const value =
    cardinality === 'list' || (element.kind === 'json' && element.json === Json.ARRAY)
      ? { type: 'array', items: {}, minItems: 1 }
      : element.kind === 'boolean' && !optional
        ? { const: true }
        : mayBeNull
          ? { not: { type: 'null' } }
          : {};
  return anyOf([name, ...otherNamesOf(rules)].map((one) => having({ [one]: value })));
}
