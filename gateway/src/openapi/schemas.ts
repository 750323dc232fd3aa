import type { DescEnum, DescMessage } from '@bufbuild/protobuf';
import type { Rules } from '@commonplace/proto/api/v1/access.js';
import { isDeprecated } from '../deprecations.js';
import type { Contract } from '../descriptors/contract.js';
import { type Element, enumChoices, type FieldShape, shapesOf } from '../descriptors/shape.js';
import { bodyConstraints } from './constraints.js';
import { namedValue } from './named-schemas.js';
import { hasUpdateMask, isNullable } from './nullable.js';
import { type Direction, describe, isSent, listOf, orNull, type Schema, valueSchema } from './values.js';

/** Collects the components of messages and enums, which are created on first use. */
export interface Schemas {
  readonly components: Readonly<Record<string, Schema>>;
  /** Returns the schema that a field's rules name for its value. `value` is its schema without such a rule. */
  named(rules: Rules, isText: boolean, value: Schema): Schema;
  /** Returns a reference to a component, which is created on first use. */
  define(type: DescMessage | DescEnum, name: string, schema: () => Schema): Schema;
  /** Returns the schema of an object with a selection of a message's fields. */
  object(type: DescMessage, shapes: readonly FieldShape[], direction: Direction): Schema;
  /** Returns the schema of a record in an answer, whole or reduced to the fields that `fields` selects. */
  selected(type: DescMessage, shapes: readonly FieldShape[]): Schema;
  /** Returns the schema of a value that is always present and never null. */
  present(shape: FieldShape, direction: Direction): Schema;
  /** Returns the schema of a field's value with its description. */
  field(shape: FieldShape, direction: Direction): Schema;
}

/** Creates an empty collection of components for a contract. It avoids the names in `taken`. */
export function createSchemas(contract: Contract, taken: ReadonlySet<string>): Schemas {
  const components: Record<string, Schema> = {};
  const schemas: Schemas = {
    components,
    named: (rules, isText, value) => namedValue(components, rules, isText, value),
    define: createDefine(components, taken),
    object: (type, shapes, direction) => {
      const required = shapes.filter(({ rules }) =>
        direction === 'output' ? !rules.once && !rules.sparse : rules.required,
      );
      return {
        type: 'object',
        ...describe(contract.comment(type)),
        properties: Object.fromEntries(shapes.flatMap((shape) => properties(shape, schemas.field(shape, direction)))),
        ...(required.length > 0 ? { required: required.map(({ name }) => name) } : {}),
        ...(isSent(direction) ? { additionalProperties: false } : {}),
      };
    },
    selected: (type, shapes) => {
      const whole = schemas.define(type, type.name, () => schemas.object(type, shapes, 'output'));
      const some = schemas.define(type, `${type.name}Fields`, () => {
        const { required: _, ...object } = schemas.object(type, shapes, 'output');
        return { ...object, description: `What \`fields\` selects of a ${type.name}.`, 'x-parameter': 'fields' };
      });
      return { anyOf: [whole, some] };
    },
    present: ({ element, rules }, direction) => elementSchema(contract, schemas, element, rules, direction),
    field: (shape, direction) => {
      const { rules, cardinality, element } = shape;
      const inside = isInUpdate(shape, direction) ? 'update' : direction === 'update' ? 'input' : direction;
      const one = elementSchema(contract, schemas, element, rules, inside);
      const many = cardinality === 'list' ? listOf(one, rules) : { type: 'object', additionalProperties: one };
      const schema = cardinality === 'one' ? one : many;
      return {
        ...(isNullable(shape, direction) ? orNull(schema) : schema),
        ...describe(contract.comment(shape.descriptor)),
        ...(isDeprecated(shape.descriptor) ? { deprecated: true } : {}),
        ...(rules.secret ? { format: 'password', ...(isSent(direction) ? { writeOnly: true } : {}) } : {}),
      };
    },
  };
  return schemas;
}

/**
 * Gives components the names of the contract. If two packages use the same name, the later one gets its package's name
 * as a prefix.
 */
function createDefine(components: Record<string, Schema>, taken: ReadonlySet<string>): Schemas['define'] {
  const names = new Map<string, string>();
  return (type, name, schema) => {
    const key = `${type.typeName} ${name}`;
    let known = names.get(key);
    if (known === undefined) {
      const [, area = ''] = type.file.proto.package.split('.');
      known =
        taken.has(name) || Object.hasOwn(components, name) ? area.charAt(0).toUpperCase() + area.slice(1) + name : name;
      names.set(key, known);
      // The component is stored before its fields are described, because a message may contain itself.
      const component: Schema = {};
      components[known] = component;
      Object.assign(component, schema());
    }
    return { $ref: `#/components/schemas/${known}` };
  };
}

const SUFFIXES: Readonly<Record<Direction, string>> = {
  output: '',
  update: 'Update',
  input: 'Input',
  parameter: 'Input',
};

/**
 * Returns whether a field holds an object whose fields an update sets one by one. In such an object null differs from
 * absent.
 */
function isInUpdate({ cardinality, element, descriptor }: FieldShape, direction: Direction): boolean {
  if (cardinality !== 'one' || element.kind !== 'message') return false;
  return direction === 'update' || (direction === 'input' && hasUpdateMask(descriptor.parent));
}

function elementSchema(
  contract: Contract,
  schemas: Schemas,
  element: Element,
  rules: Rules,
  direction: Direction,
): Schema {
  switch (element.kind) {
    case 'message':
    case 'page': {
      const { type } = element;
      const name = type.name + SUFFIXES[direction];
      return schemas.define(type, name, () => {
        const shapes = shapesOf(contract, type);
        const object = schemas.object(type, shapes, direction);
        const named = direction === 'update' ? { minProperties: 1 } : {};
        return isSent(direction) ? { ...object, ...named, ...bodyConstraints(contract, type, shapes, false) } : object;
      });
    }
    case 'wrapped': {
      const { list } = element;
      return listOf(elementSchema(contract, schemas, list.element, list.rules, direction), list.rules);
    }
    case 'enum':
      return enumSchema(contract, schemas, element.type, rules);
    case 'mask':
    case 'page-request':
      throw new Error(`a ${element.kind} has no schema`);
    default: {
      const value = valueSchema(element, rules, direction);
      return rules.schema === '' ? value : schemas.named(rules, element.kind === 'string', value);
    }
  }
}

function enumSchema(contract: Contract, schemas: Schemas, type: DescEnum, rules: Rules): Schema {
  const choices = enumChoices(type);
  if (rules.in.length > 0) return { type: 'string', enum: rules.in };
  return schemas.define(type, type.name, () => {
    const notes = type.values
      .filter((value) => contract.comment(value) !== '')
      .map((value) => `- \`${choices.get(value.name)}\`: ${contract.comment(value)}`);
    const text = [contract.comment(type), ...notes].filter((line) => line !== '').join('\n');
    return { type: 'string', enum: [...choices.values()], ...describe(text) };
  });
}

/** Returns the property of a field, and the properties of its other names. */
function properties({ name, rules }: FieldShape, schema: Schema): [string, Schema][] {
  const { alias, former } = rules;
  const own: [string, Schema][] = [[name, schema]];
  if (alias !== '') own.push([alias, { ...schema, description: `Another spelling of \`${name}\`.` }]);
  if (former !== '') own.push([former, { ...schema, description: `Use \`${name}\`.`, deprecated: true }]);
  return own;
}
