import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import type { ValueElement } from '../request/element.js';

/** A piece of JSON Schema 2020-12. */
export type Schema = Record<string, unknown>;

/** The schema of one value that is neither a message nor an enum. */
export function valueSchema(element: Exclude<ValueElement, { kind: 'enum' }>, rules: Rules): Schema {
  switch (element.kind) {
    case 'string':
      return textSchema(rules);
    case 'boolean':
      return { type: 'boolean' };
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'number':
      return { type: 'number', ...bounds(rules.min, rules.max) };
    case 'integer': {
      const wide = element.most > 2 ** 32;
      const min = rules.min ?? (element.least === 0 ? 0 : undefined);
      return { type: 'integer', format: wide ? 'int64' : 'int32', ...bounds(min, rules.max) };
    }
    case 'json':
      return FREE_FORM[element.json];
  }
}

const FREE_FORM: Record<Json, Schema> = {
  [Json.UNSPECIFIED]: {},
  [Json.ANY]: {},
  [Json.OBJECT]: { type: 'object' },
  [Json.ARRAY]: { type: 'array' },
  [Json.TEXT_OR_OBJECT]: { type: ['string', 'object'] },
};

function textSchema(rules: Rules): Schema {
  const schema: Schema = { type: 'string' };
  if (rules.uuid) schema.format = 'uuid';
  if (rules.email) schema.format = 'email';
  if (rules.in.length > 0) schema.enum = rules.in;
  if (rules.minLength > 0) schema.minLength = rules.minLength;
  if (rules.maxLength > 0) schema.maxLength = rules.maxLength;
  return schema;
}

function bounds(minimum: number | undefined, maximum: number | undefined): Schema {
  return { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) };
}

/** A list of such items. */
export function listOf(items: Schema, { minItems, maxItems }: Rules): Schema {
  return { type: 'array', items, ...(minItems > 0 ? { minItems } : {}), ...(maxItems > 0 ? { maxItems } : {}) };
}

/** The same, or null. */
export function orNull(schema: Schema): Schema {
  const { type, enum: choices } = schema;
  if (type === undefined) return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };
  const types = Array.isArray(type) ? [...type, 'null'] : [type, 'null'];
  return { ...schema, type: types, ...(Array.isArray(choices) ? { enum: [...choices, null] } : {}) };
}

/** A description, where there is something to say. */
export function describe(text: string): Schema {
  return text === '' ? {} : { description: text };
}
