import { api } from './client.js';
import type { System } from './system.js';

export type Schema = Readonly<Record<string, unknown>>;

/** An endpoint as the OpenAPI document describes it. */
export interface Endpoint {
  readonly method: string;
  /** What a key limited to workspaces may reach at the endpoint. */
  readonly workspaceLimit: string;
  /** Path such as `/api/v1/resources/{resource_id}`. */
  readonly path: string;
  /** Method and path, such as `GET /api/v1/resources/{resource_id}`. */
  readonly name: string;
  readonly scope: string;
  /** Alternative scopes that open the endpoint. */
  readonly also: readonly string[];
  /** Names of the path parameters in order. */
  readonly ids: readonly string[];
  /** Schemas of query parameters by name. */
  readonly query: Readonly<Record<string, Schema>>;
  /** Schemas of the body's fields by name; empty if there is no body. */
  readonly fields: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

interface Parameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly in?: string;
  readonly schema?: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  /** Undefined if the route is not an endpoint of the contract. */
  readonly 'x-scope'?: string;
  readonly 'x-workspace-limited-keys': string;
  readonly 'x-also-scopes'?: readonly string[];
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Record<string, Schema>; readonly parameters: Record<string, Parameter> };
}

const METHODS = ['get', 'post', 'patch', 'put', 'delete'];

/** Lists all endpoints of a system from the OpenAPI document that it serves. */
export async function listEndpoints(system: System): Promise<Endpoint[]> {
  const { text } = await api(system).get('/api/v1/openapi.json');
  const description = JSON.parse(text) as Description;
  const resolve = (schema: Schema): Schema => resolveSchema(description, schema);
  return Object.entries(description.paths).flatMap(([given, operations]) => {
    const path = given.startsWith('/api/') ? given : `/api/v1${given}`;
    return METHODS.flatMap((verb) => {
      const operation = operations[verb];
      // Public endpoints have no gate to test.
      const scope = operation?.['x-scope'];
      return operation === undefined || scope === undefined || scope === 'public'
        ? []
        : [endpointOf(verb.toUpperCase(), path, { ...operation, 'x-scope': scope }, description, resolve)];
    });
  });
}

function endpointOf(
  method: string,
  path: string,
  operation: Operation & { readonly 'x-scope': string },
  description: Description,
  resolve: (schema: Schema) => Schema,
): Endpoint {
  const parameters = (operation.parameters ?? []).map((one) => resolveParameter(description, one));
  const query = parameters.filter((one) => one.in === 'query');
  const body = operation.requestBody?.content['application/json']?.schema;
  const object = body === undefined ? {} : resolve(body);
  const fields = Object.entries((object.properties ?? {}) as Record<string, Schema>);
  return {
    method,
    path,
    name: `${method} ${path}`,
    scope: operation['x-scope'],
    also: operation['x-also-scopes'] ?? [],
    workspaceLimit: operation['x-workspace-limited-keys'],
    ids: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    query: Object.fromEntries(query.map((one) => [one.name as string, resolve(one.schema ?? {})])),
    fields: Object.fromEntries(fields.map(([name, schema]) => [name, resolve(schema)])),
    required: (object.required ?? []) as string[],
  };
}

function resolveParameter({ components }: Description, parameter: Parameter): Parameter {
  const name = parameter.$ref?.split('/').at(-1);
  return name === undefined ? parameter : (components.parameters[name] ?? {});
}

/** Resolves references, and unwraps the schema of a nullable value. */
function resolveSchema(description: Description, schema: Schema): Schema {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) as string;
    return resolveSchema(description, description.components.schemas[name] ?? {});
  }
  const choices = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Schema[] | undefined;
  const rest = choices?.filter(({ type }) => type !== 'null');
  return rest?.length === 1 ? { ...resolveSchema(description, rest[0] as Schema), ...withoutChoices(schema) } : schema;
}

function withoutChoices({ anyOf: _, oneOf: __, allOf: ___, ...rest }: Schema): Schema {
  return rest;
}
