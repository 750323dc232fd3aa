import type { DescEnum, DescMessage } from '@bufbuild/protobuf';
import type { Rules } from '@commonplace/proto/api/v1/access.js';
import type { Contract } from '../descriptors/contract.js';
import { type Element, enumChoices, type FieldShape, shapeOf, shapesOf } from '../descriptors/shape.js';
import { describe, listOf, orNull, type Schema, valueSchema } from './values.js';

/** Which way a message goes: what is required and what may be null differ. */
export type Direction = 'input' | 'output';

/** The components of messages and enums, made as they are asked for. */
export interface Schemas {
  readonly components: Readonly<Record<string, Schema>>;
  /** A reference to a component, made on first use. */
  define(type: DescMessage | DescEnum, name: string, schema: () => Schema): Schema;
  /** The object of some fields of a message. */
  object(type: DescMessage, shapes: readonly FieldShape[], direction: Direction): Schema;
  /** The value of a field, described. */
  field(shape: FieldShape, direction: Direction): Schema;
}

/** An empty set of components for a contract; the names taken are left alone. */
export function createSchemas(contract: Contract, taken: ReadonlySet<string>): Schemas {
  const components: Record<string, Schema> = {};
  const schemas: Schemas = {
    components,
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
        ...(direction === 'input' ? { additionalProperties: false } : {}),
      };
    },
    field: (shape, direction) => {
      const { rules, cardinality, element } = shape;
      const one = elementSchema(contract, schemas, element, rules, direction);
      const many = cardinality === 'list' ? listOf(one, rules) : { type: 'object', additionalProperties: one };
      const schema = cardinality === 'one' ? one : many;
      return {
        ...(isNullable(shape, direction) ? orNull(schema) : schema),
        ...describe(contract.comment(shape.descriptor)),
        ...(rules.secret ? { format: 'password', ...(direction === 'input' ? { writeOnly: true } : {}) } : {}),
      };
    },
  };
  return schemas;
}

/** Names are those of the contract; where two packages use one, the later carries its package's. */
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
      // Before its fields are described, for a message may hold itself.
      const component: Schema = {};
      components[known] = component;
      Object.assign(component, schema());
    }
    return { $ref: `#/components/schemas/${known}` };
  };
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
      const name = direction === 'output' ? type.name : `${type.name}Input`;
      return schemas.define(type, name, () => schemas.object(type, shapesOf(contract, type), direction));
    }
    case 'wrapped':
      return listOf(
        elementSchema(contract, schemas, shapeOf(contract, element.inner).element, rules, direction),
        rules,
      );
    case 'enum':
      return enumSchema(contract, schemas, element.type, rules);
    case 'mask':
    case 'page-request':
      throw new Error(`a ${element.kind} has no schema`);
    default:
      return valueSchema(element, rules);
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

/** A list or a map is never null; a value that is always there is not null in an answer. */
function isNullable({ cardinality, element, optional, rules }: FieldShape, direction: Direction): boolean {
  if (cardinality !== 'one') return false;
  if (direction === 'input') return rules.nullable;
  if (rules.required) return false;
  return optional || NULL_WHEN_ABSENT.has(element.kind);
}

const NULL_WHEN_ABSENT: ReadonlySet<string> = new Set(['json', 'time', 'message', 'wrapped']);

/** A field's property, and that of its other spelling. */
function properties({ name, rules }: FieldShape, schema: Schema): [string, Schema][] {
  const own: [string, Schema] = [name, schema];
  if (rules.alias === '') return [own];
  return [own, [rules.alias, { ...schema, description: `Another spelling of \`${name}\`.` }]];
}
