/** A piece of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/** Whether a schema describes what a client sends or what the API answers. */
export type Direction = 'input' | 'output';

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema, bounds: Schema = {}): Schema => ({ type: 'array', items, ...bounds });
export const line = (maxLength: number, others: Schema = {}): Schema => ({ type: 'string', maxLength, ...others });
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029';
/**
 * Characters below U+10000 that cannot be seen, besides controls: spaces, what Unicode lets programs ignore, and the empty
 * braille cell. Not every language's patterns can name those above.
 */
const BLANKS =
  ' \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u202a-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8';
/** Pattern of a single line of text: no control characters, no line or paragraph separators. */
export const LINE = `^[^${CONTROLS}]*$`;
/** Pattern of a line of which something can be seen. */
export const FILLED_LINE = `^[^${CONTROLS}]*[^${CONTROLS}${BLANKS}][^${CONTROLS}]*$`;

/** A line of text of which something can be seen. */
export const filledLine = (maxLength: number): Schema => line(maxLength, { minLength: 1, pattern: FILLED_LINE });
export const whole = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });

export const TEXT: Schema = { type: 'string' };
export const FLAG: Schema = { type: 'boolean' };
export const NUMBER: Schema = { type: 'number' };
export const UUID: Schema = { type: 'string', format: 'uuid' };
export const TIME: Schema = { type: 'string', format: 'date-time' };
/** An id that a client may choose. */
export const KEY: Schema = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };
export const JSON_OBJECT: Schema = { type: 'object', additionalProperties: true };

/** Returns the same schema, or null. */
export function orNull(schema: Schema): Schema {
  const { type, enum: choices } = schema;
  // What has no type may be null already.
  if (Object.keys(schema).every((key) => key === 'description')) return schema;
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'].flat(), ...(Array.isArray(choices) ? { enum: [...choices, null] } : {}) };
}

/** Returns an object without other fields than these. */
export function closed(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** Returns an object of a request: each field that it can do without may be null, which is like absent. */
export function sent(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  const fields = Object.entries(properties).map(([name, schema]): [string, Schema] => [
    name,
    required.includes(name) ? schema : orNull(schema),
  ]);
  return closed(Object.fromEntries(fields), required);
}
