import { checkTwiceWithin, type JsonSchema, TOO_LONG } from './schema-check.js';

const SCHEMA = { $ref: '#/$defs/schema' };
const SCHEMAS = { type: 'array', minItems: 1, items: SCHEMA };
const NAMED_SCHEMAS = { type: 'object', additionalProperties: SCHEMA };
const COUNT = { type: 'integer', minimum: 0 };
const NAMES = { type: 'array', items: { type: 'string' } };
const TYPE = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] };
const PATTERN = { type: 'string', format: 'regex' };

/** The form of the values of keywords. Keywords that are not listed are ignored. */
const VALUES: readonly (readonly [object, readonly string[]])[] = [
  [{ type: 'string' }, ['$id', '$schema', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$comment']],
  [{ type: 'string' }, ['title', 'description', 'format']],
  [{ type: 'array' }, ['enum', 'examples']],
  [{ type: 'boolean' }, ['uniqueItems']],
  [{ type: 'number' }, ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']],
  [{ type: 'number', exclusiveMinimum: 0 }, ['multipleOf']],
  [COUNT, ['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains']],
  [COUNT, ['minProperties', 'maxProperties']],
  [PATTERN, ['pattern']],
  [NAMES, ['required']],
  [{ type: 'object', additionalProperties: NAMES }, ['dependentRequired']],
  [{ anyOf: [TYPE, { type: 'array', items: TYPE, minItems: 1 }] }, ['type']],
  [SCHEMA, ['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames']],
  [SCHEMA, ['unevaluatedItems', 'unevaluatedProperties']],
  [SCHEMAS, ['allOf', 'anyOf', 'oneOf', 'prefixItems']],
  [NAMED_SCHEMAS, ['$defs', 'definitions', 'properties', 'dependentSchemas']],
  [{ ...NAMED_SCHEMAS, propertyNames: PATTERN }, ['patternProperties']],
];

/** A schema for JSON Schemas of the version 2020-12. */
const FORM: JsonSchema = {
  ...SCHEMA,
  $defs: {
    schema: {
      type: ['object', 'boolean'],
      properties: Object.fromEntries(VALUES.flatMap(([form, names]) => names.map((name) => [name, form]))),
    },
  },
};

/** Milliseconds that an attempt to check a schema may take. It depends on the size of the schema alone, which is limited. */
const CHECK_MS = 250;

/** Returns the faults in the form of a JSON Schema; undefined if there are none. */
export function faultOfSchema(schema: JsonSchema): string | undefined {
  const checked = checkTwiceWithin(CHECK_MS, FORM, schema);
  return checked === 'late' ? TOO_LONG : checked.fault;
}
