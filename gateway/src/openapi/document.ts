import type { Route } from '../routes.js';
import { ENVELOPE_SCHEMAS, errorResponses, HEADERS, PARAMETERS, SECURITY_SCHEMES } from './components.js';
import { operationOf, tagOf } from './operation.js';
import { createSchemas } from './schemas.js';
import { describe, type Schema } from './values.js';

export interface OpenApiOptions {
  readonly title: string;
  readonly serverVersion: string;
  /** Where the API is, without `/api/v1`; `/` (where the document came from) by default. */
  readonly serverUrl?: string;
}

/** The OpenAPI 3.1 document of the routes of one contract; of one route at the least. */
export function createOpenApi(routes: readonly Route[], options: OpenApiOptions): Schema {
  const [first] = routes;
  if (first === undefined) throw new Error('there are no routes to describe');
  const schemas = createSchemas(first.contract, new Set(Object.keys(ENVELOPE_SCHEMAS)));
  const paths: Record<string, Schema> = {};
  const tags = new Map<string, Schema>();
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    paths[route.path] = item;
    item[route.method.toLowerCase()] = operationOf(schemas, route);
    const tag = tagOf(route);
    if (!tags.has(tag)) tags.set(tag, { name: tag, ...describe(route.contract.comment(route.descriptor.parent)) });
  }
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.serverVersion },
    servers: [{ url: options.serverUrl ?? '/' }],
    tags: [...tags.values()],
    paths,
    components: {
      schemas: { ...ENVELOPE_SCHEMAS, ...schemas.components },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: errorResponses(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}
