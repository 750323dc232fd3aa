import { createErrorAnswers } from '../../openapi/error-answers.js';
import { operationOf } from '../../openapi/operation.js';
import { createSchemas } from '../../openapi/schemas.js';
import type { Schema } from '../../openapi/values.js';
import type { Route } from '../../routes.js';

/** The description of an operation for a model. */
export interface Described {
  /** Name of the operation, such as `getResource`. */
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  /** JSON Schema of its arguments, as JSON. */
  readonly schema: string;
}

/**
 * Maximum length of a schema in characters, because a model reads all of it. Deeply nested definitions beyond it are
 * left out.
 */
const MAX_SCHEMA_CHARS = 12_000;

interface Parameter {
  readonly name?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

/**
 * Describes an operation with its path, query and body arguments in one object, the form that the tool `call` accepts.
 */
export function describeOperation(route: Route): Described {
  const schemas = createSchemas(route.contract, new Set());
  const operation = operationOf(schemas, createErrorAnswers(), route);
  const parameters = (operation.parameters as Parameter[]).filter(({ name }) => name !== undefined);
  const body = bodyOf(operation, schemas.components);
  const properties = Object.fromEntries(parameters.map((one) => [one.name as string, schemaOf(one)]));
  const required = parameters.filter((one) => one.required).map(({ name }) => name as string);
  const whole = route.bodyField === '*' ? (body.properties as Schema | undefined) : { [route.bodyField]: body };
  const schema = {
    type: 'object',
    properties: { ...properties, ...whole },
    required: [...required, ...((body.required as string[] | undefined) ?? [])],
  };
  return {
    operation: route.descriptor.localName,
    summary: String(operation.summary),
    description: String(operation.description),
    schema: JSON.stringify(withDefinitions(schema, schemas.components)),
  };
}

function schemaOf({ schema, content, description }: Parameter): Schema {
  return {
    ...(schema ?? content?.['application/json']?.schema),
    ...(description === undefined ? {} : { description }),
  };
}

/** Returns the schema of an operation's body; an empty object if it has none. */
function bodyOf(operation: Schema, components: Readonly<Record<string, Schema>>): Schema {
  const body = operation.requestBody as { content: Record<string, { schema: Schema }> } | undefined;
  const schema = body?.content['application/json']?.schema ?? {};
  const [, name] = REFERENCE.exec(String(schema.$ref ?? '')) ?? [];
  return name === undefined ? schema : (components[name] ?? {});
}

const REFERENCE = /^#\/components\/schemas\/(\w+)$/;

/**
 * Adds the definitions that a schema refers to, nearest first, until the schema reaches its maximum length. Definitions
 * that are left out accept anything, since the API checks its input anyway.
 */
function withDefinitions(schema: Schema, components: Readonly<Record<string, Schema>>): Schema {
  const definitions: Record<string, Schema> = {};
  const waiting = namesIn(schema);
  let length = JSON.stringify(schema).length;
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (Object.hasOwn(definitions, name)) continue;
    const definition = components[name] ?? {};
    length += JSON.stringify(definition).length;
    const isLeftOut = length > MAX_SCHEMA_CHARS;
    definitions[name] = isLeftOut ? { description: 'Left out for its length; see /docs.' } : definition;
    if (!isLeftOut) waiting.push(...namesIn(definition));
  }
  const text = JSON.stringify({ ...schema, $defs: definitions });
  return JSON.parse(text.replaceAll('"#/components/schemas/', '"#/$defs/')) as Schema;
}

function namesIn(schema: Schema): string[] {
  const found = JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
  return [...found].map(([, name]) => name as string);
}
