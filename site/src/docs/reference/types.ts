import type { Schema } from '@commonplace/platform/api-document';
import type { ApiDocument } from './model.js';

export const SCHEMAS_PATH = '/docs/api/schemas';

/** One line of a table of fields. */
interface FieldLine {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly text: string;
}

/** Describes a type in words, as Markdown. Named schemas link to the page of schemas. */
export function typeOf(schema: Schema): string {
  if (typeof schema.$ref === 'string') return linkTo(schema.$ref.split('/').at(-1) as string);
  const choices = ((schema.anyOf ?? schema.oneOf) as Schema[] | undefined)?.filter((one) => !isSelection(one));
  if (choices !== undefined) return unique(choices.map(typeOf)).join(' or ');
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  const types = [schema.type ?? 'any'].flat().map((type) => typeNamed(String(type), schema));
  return unique(types).join(' or ');
}

/**
 * Returns whether a schema refers to the subset of a record that `fields` selects. The record's own schema describes
 * it.
 */
const isSelection = ({ $ref }: Schema): boolean => typeof $ref === 'string' && $ref.endsWith('Fields');

function typeNamed(type: string, { items, additionalProperties, format }: Schema): string {
  if (type === 'array') return items === undefined ? 'list' : `list of ${typeOf(items as Schema)}`;
  const isMap = type === 'object' && typeof additionalProperties === 'object';
  if (isMap) return `map of ${typeOf(additionalProperties as Schema)}`;
  return format === undefined || type === 'null' ? type : `${type} (${format})`;
}

const unique = (words: readonly string[]): string[] => [...new Set(words)];

function linkTo(name: string): string {
  return `[${name}](${SCHEMAS_PATH}#${name})`;
}

const LIMITS: readonly (readonly [key: string, words: string])[] = [
  ['minLength', 'at least {} characters'],
  ['maxLength', 'at most {} characters'],
  ['minimum', 'at least {}'],
  ['maximum', 'at most {}'],
  ['minItems', 'at least {} items'],
  ['maxItems', 'at most {} items'],
  ['default', '{} by default'],
];

/** Describes a value by its comment and its limits. */
export function textOf(schema: Schema): string {
  const limits = LIMITS.filter(([key]) => schema[key] !== undefined && !isRange(schema[key])).map(([key, words]) =>
    (schema[key] === 1 ? words.replace(/(character|item)s/, '$1') : words).replace('{}', String(schema[key])),
  );
  const comment = String(schema.description ?? '');
  return [comment, limits.length > 0 ? `${capitalized(limits.join(', '))}.` : ''].filter(Boolean).join(' ');
}

/** Returns whether a limit is only the range of the integer type. */
const isRange = (limit: unknown): boolean =>
  [2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER].includes(Math.abs(Number(limit))) || limit === -(2 ** 31);

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Lists the fields of an object. Fields of nested objects without a name follow their parent with dotted names. */
export function fieldsOf(schema: Schema, prefix = ''): FieldLine[] {
  const required = new Set((schema.required ?? []) as string[]);
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, field]) => {
    const own = { name: prefix + name, type: typeOf(field), required: required.has(name), text: textOf(field) };
    return [own, ...fieldsOf(field, `${prefix}${name}.`)];
  });
}

/** Resolves references until it reaches an actual schema. */
export function resolved({ components }: ApiDocument, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema;
  const name = schema.$ref.split('/').at(-1) as string;
  return components.schemas[name] ?? {};
}

/** Renders fields as a Markdown table; empty if there are none. */
export function fieldTable(fields: readonly FieldLine[]): string {
  if (fields.length === 0) return '';
  const rows = fields.map(({ name, type, required, text }) => {
    const note = required ? '**Required.** ' : '';
    return `| \`${name}\` | ${cell(type)} | ${cell(note + text)} |`;
  });
  return ['| Field | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Formats a text for a table cell, which has to be one line. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n(?:- )?/g, ' ');
}
