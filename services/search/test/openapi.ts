import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';

/** Describes a request as it is sent. */
export interface WireRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Returns what is wrong with a request by an OpenAPI description; empty if it is valid. */
export type Check = (request: WireRequest) => string[];

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly type?: string;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, { readonly schema: Schema }> };
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/**
 * Reads an OpenAPI 3.0 description. Keys that the description does not name are faults too, because most servers ignore
 * a misspelt parameter.
 */
export function readDescription(file: string): Check {
  const description = parse(readFileSync(file, 'utf8')) as Description;
  const base = 'https://description.invalid/';
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const coercing = new Ajv({ strict: false, validateFormats: false, allErrors: true, coerceTypes: true });
  for (const one of [ajv, coercing]) one.addSchema({ $id: base, components: description.components });
  const compiled = new Map<Schema, ValidateFunction>();

  function faultsOf(schema: Schema, value: unknown, place: string, engine = ajv): string[] {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = engine.compile(absolute(schema, base) as object);
      compiled.set(schema, validate);
    }
    validate(value);
    const faults = validate.errors?.map(({ instancePath, message }) => `${place}${instancePath} ${message}`) ?? [];
    return [...faults, ...unknownKeys(description, schema, value, place)];
  }

  return ({ method, url, headers, body }) => {
    const { pathname, searchParams } = new URL(url, 'http://server.invalid');
    const found = operationAt(description, method, pathname);
    if (found === undefined) return [`${method} ${pathname} is no operation`];
    if (headers['x-typesense-api-key'] === undefined) return ['there is no key'];
    const parameters = schemaOfParameters(found);
    const query = faultsOf(parameters, Object.fromEntries(searchParams), 'query', coercing);
    return [...query, ...bodyFaults(found, body, faultsOf)];
  };
}

function operationAt({ paths }: Description, method: string, pathname: string): Operation | undefined {
  const parts = pathname.split('/');
  for (const [template, operations] of Object.entries(paths)) {
    const names = template.split('/');
    const fits = names.length === parts.length && names.every((name, i) => name.startsWith('{') || name === parts[i]);
    const operation = operations[method.toLowerCase()];
    if (fits && operation !== undefined && parts.slice(1).every((part) => part !== '')) return operation;
  }
  return undefined;
}

const madeSchemas = new WeakMap<Operation, Schema>();

/**
 * Returns a schema of all query parameters as one object; parameters that are objects are replaced by their properties.
 */
function schemaOfParameters(operation: Operation): Schema {
  let schema = madeSchemas.get(operation);
  if (schema === undefined) {
    const all = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
    schema = {
      allOf: all.map(({ name, schema: own }) =>
        own.type === 'object' || own.$ref?.endsWith('Parameters')
          ? own
          : { type: 'object', properties: { [name]: own } },
      ),
      type: 'object',
    };
    madeSchemas.set(operation, schema);
  }
  return schema.allOf?.length === 0 ? { type: 'object', properties: {} } : schema;
}

function bodyFaults(
  { requestBody }: Operation,
  body: string,
  faultsOf: (s: Schema, v: unknown, p: string) => string[],
) {
  if (requestBody === undefined) return body === '' ? [] : ['there is a body'];
  if (body === '') return requestBody.required ? ['there is no body'] : [];
  const [[type, { schema }]] = Object.entries(requestBody.content) as [[string, { schema: Schema }]];
  try {
    if (type === 'application/json') return faultsOf(schema, JSON.parse(body), 'body');
    const lines = body.split('\n').map((line) => JSON.parse(line) as unknown);
    return lines.flatMap((line, i) => (typeof line === 'object' && line !== null ? [] : [`line ${i} is no object`]));
  } catch (error) {
    return [`body: ${(error as Error).message}`];
  }
}

function absolute(schema: unknown, base: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => absolute(part, base));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    return [key, key === '$ref' ? `${base}${value}` : absolute(value, base)];
  });
  return Object.fromEntries(entries);
}

function unknownKeys(description: Description, schema: Schema, value: unknown, place: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const parts = partsOf(description, schema);
  if (Array.isArray(value)) {
    const items = parts.flatMap((part) => part.items ?? []);
    return value.flatMap((one, i) => items.flatMap((item) => unknownKeys(description, item, one, `${place}/${i}`)));
  }
  const known = parts.filter((part) => part.properties !== undefined);
  if (known.length === 0 || parts.some((part) => part.additionalProperties)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const owners = known.flatMap((part) => part.properties?.[key] ?? []);
    if (owners.length === 0) return [`${place}/${key} is unknown`];
    return owners.flatMap((owner) => unknownKeys(description, owner, one, `${place}/${key}`));
  });
}

/** Returns a schema and all schemas that it consists of. */
function partsOf(description: Description, schema: Schema): Schema[] {
  if (schema.$ref !== undefined) {
    const named = description.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return named === undefined ? [] : partsOf(description, named);
  }
  const inner = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...inner.flatMap((part) => partsOf(description, part))];
}
