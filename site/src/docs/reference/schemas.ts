import type { Schema } from '@commonplace/platform/api-document';
import type { ApiDocument } from './model.js';
import { fieldsOf, fieldTable, textOf, typeOf } from './types.js';

/** Renders all named types as Markdown, except errors, and request bodies, which their operations describe. */
export function schemasMarkdown(document: ApiDocument): string {
  const bodies = new Set(
    Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .map(({ requestBody }) => requestBody?.content['application/json']?.schema.$ref),
  );
  const isShown = ([name, schema]: [string, Schema]) =>
    !bodies.has(`#/components/schemas/${name}`) && !isErrorAnswer(schema) && schema['x-parameter'] === undefined;
  const named = Object.entries(document.components.schemas)
    .filter(isShown)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return ['# Schemas', 'The types that requests and answers consist of.', ...named.map(schemaMarkdown)].join('\n\n');
}

function schemaMarkdown([name, schema]: [string, Schema]): string {
  // Answers always contain all fields.
  const lines = fieldsOf(schema).map((line) => (SENT.test(name) ? line : { ...line, required: false }));
  const fields = fieldTable(lines);
  const type = fields === '' ? `${typeOf(schema)}.` : fields;
  return [`## ${name} {#${name}}`, textOf(schema), type, ...alternatives(schema)].filter(Boolean).join('\n\n');
}

/** Returns whether a schema is the envelope of an error. Only an error has a link to the catalogue (`doc_url`). */
function isErrorAnswer({ properties }: Schema): boolean {
  const { error } = (properties ?? {}) as Record<string, Schema | undefined>;
  return Object.hasOwn((error?.properties ?? {}) as Schema, 'doc_url');
}

/** Names of types that are part of a request. */
const SENT = /(?:Input|Update)$/;

/** Renders alternatives that have no name of their own. */
function alternatives(schema: Schema): string[] {
  const choices = ((schema.oneOf ?? schema.anyOf ?? []) as Schema[]).filter((one) => one.properties !== undefined);
  return choices.map((one) => [textOf(one), fieldTable(fieldsOf(one))].filter(Boolean).join('\n\n'));
}
