import type { RecordedExamples } from '@commonplace/platform/api-document';
import type { Route } from '../routes.js';
import { ENVELOPE_SCHEMAS, HEADERS, PARAMETERS, SECURITY_SCHEMES } from './components.js';
import { createErrorAnswers } from './error-answers.js';
import { describeHandWritten, HAND_WRITTEN_TAGS } from './hand-written.js';
import { linksOf } from './links.js';
import { operationOf, tagOf } from './operation.js';
import { createSchemas } from './schemas.js';
import { describe, type Schema } from './values.js';
import { withExample } from './with-examples.js';

interface OpenApiOptions {
  readonly title: string;
  readonly serverVersion: string;
  /** URL of the API without `/api/v1`. The default is `/`, the server from which the document was loaded. */
  readonly serverUrl?: string;
  /** Recorded requests and answers; by default none. */
  readonly examples?: RecordedExamples;
}

const LICENSE = { name: 'Apache License 2.0', identifier: 'Apache-2.0' };

/** Creates the OpenAPI 3.1 document for the routes of one contract. Throws if there are none. */
export function createOpenApi(routes: readonly Route[], options: OpenApiOptions): Schema {
  const [first] = routes;
  if (first === undefined) throw new Error('there are no routes to describe');
  const schemas = createSchemas(first.contract, new Set(Object.keys(ENVELOPE_SCHEMAS)));
  const errors = createErrorAnswers();
  const { examples = {} } = options;
  const paths: Record<string, Schema> = {};
  const tags = new Map<string, Schema>();
  const links = linksOf(routes);
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    paths[route.path] = item;
    item[route.method.toLowerCase()] = withExample(
      route.method,
      operationOf(schemas, errors, route, links.get(route.descriptor.localName)),
      examples,
    );
    const tag = tagOf(route);
    if (!tags.has(tag)) tags.set(tag, { name: tag, ...describe(route.contract.comment(route.descriptor.parent)) });
  }
  const handWritten = describeHandWritten(schemas, errors, first.contract);
  for (const { method, path, operation } of handWritten) {
    paths[path] = { ...paths[path], [method]: withExample(method, operation, examples) };
  }
  if (handWritten.length > 0) for (const tag of HAND_WRITTEN_TAGS) tags.set(String(tag.name), tag);
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.serverVersion, license: LICENSE },
    servers: [{ url: options.serverUrl ?? '/' }],
    tags: [...tags.values()],
    paths,
    components: {
      schemas: { ...ENVELOPE_SCHEMAS, ...disjoint(schemas.components, errors.schemas) },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: errors.responses,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** Merges two sets of components. Throws if both define the same name. */
function disjoint(some: Readonly<Record<string, Schema>>, others: Readonly<Record<string, Schema>>): Schema {
  const twice = Object.keys(some).filter((name) => Object.hasOwn(others, name));
  if (twice.length > 0) throw new Error(`two schemas have the name ${twice.join(', ')}`);
  return { ...some, ...others };
}
