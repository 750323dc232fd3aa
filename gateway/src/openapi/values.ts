import type { Schema } from '@commonplace/platform/api-document';
import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import { FILLED_LINE, LINE } from '@commonplace/proto/schemas.js';

export type { Schema };

import type { ValueElement } from '../request/element.js';

/**
 * Position of a value: in a body, in an object inside the body of an update, in a path or query, or in an answer. What
 * is required or nullable differs between them.
 */
export type Direction = 'input' | 'update' | 'parameter' | 'output';

/** Returns whether a value at this position is part of a request's body. */
export function isSent(direction: Direction): boolean {
  return direction === 'input' || direction === 'update';
}

/** Returns the schema of one value that is neither a message nor an enum. */
export function valueSchema(
  element: Exclude<ValueElement, { kind: 'enum' }>,
  rules: Rules,
  direction: Direction,
): Schema {
  switch (element.kind) {
    case 'string':
      return { ...textSchema(rules), ...(direction !== 'output' ? charactersSchema(rules) : {}) };
    case 'boolean':
      return { type: 'boolean' };
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'number':
      return { type: 'number', ...bounds(rules.min, rules.max) };
    case 'integer': {
      const wide = element.most > 2 ** 32;
      const range = bounds(rules.min ?? element.least, rules.max ?? element.most);
      return { type: 'integer', format: wide ? 'int64' : 'int32', ...range };
    }
    case 'json':
      return element.json === Json.ARRAY ? listOf({}, rules) : FREE_FORM[element.json];
  }
}

const FREE_FORM: Record<Exclude<Json, Json.ARRAY>, Schema> = {
  [Json.UNSPECIFIED]: {},
  [Json.ANY]: {},
  [Json.REQUEST]: {},
  [Json.OBJECT]: { type: 'object', additionalProperties: true },
  [Json.TEXT_OR_OBJECT]: { type: ['string', 'object'], additionalProperties: true },
};

function textSchema(rules: Rules): Schema {
  const schema: Schema = { type: 'string' };
  if (rules.uuid) schema.format = 'uuid';
  if (rules.email) schema.format = 'email';
  if (rules.in.length > 0) schema.enum = rules.in;
  const minLength = Math.max(rules.minLength, rules.required && !rules.mayBeEmpty ? 1 : 0);
  if (minLength > 0) schema.minLength = minLength;
  if (rules.maxLength > 0) schema.maxLength = rules.maxLength;
  return schema;
}

/** Returns the schema that restricts the characters of a text in a request. */
function charactersSchema(rules: Rules): Schema {
  if (rules.uuid || rules.in.length > 0) return {};
  if (!rules.line) return { pattern: WITHOUT_NUL };
  return { pattern: rules.required || rules.minLength > 0 ? FILLED_LINE : LINE };
}

const WITHOUT_NUL = '^[^\\u0000]*$';

function bounds(minimum: number | undefined, maximum: number | undefined): Schema {
  return { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) };
}

/** Returns the schema of a list of such items. */
export function listOf(items: Schema, { minItems, maxItems, uniqueItems }: Rules): Schema {
  return {
    type: 'array',
    items,
    ...(minItems > 0 ? { minItems } : {}),
    ...(maxItems > 0 ? { maxItems } : {}),
    ...(uniqueItems ? { uniqueItems } : {}),
  };
}

/** Returns the schema with null allowed. */
export function orNull(schema: Schema): Schema {
  const { type, enum: choices } = schema;
  if (type === undefined) return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };
  const types = Array.isArray(type) ? [...type, 'null'] : [type, 'null'];
  return { ...schema, type: types, ...(Array.isArray(choices) ? { enum: [...choices, null] } : {}) };
}

/** Returns a schema with only a description; empty for an empty text. */
export function describe(text: string): Schema {
  return text === '' ? {} : { description: text };
}
