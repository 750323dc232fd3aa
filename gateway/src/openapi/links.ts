import { pathParams } from '../request/endpoint.js';
import type { Route } from '../routes.js';
import type { Schema } from './values.js';

/**
 * Returns, by operation, the links from the answer of an endpoint that creates a record to the endpoints below the
 * record: `POST /agents` leads to `GET /agents/{agent_id}` with the id in its answer.
 */
export function linksOf(routes: readonly Route[]): ReadonlyMap<string, Schema> {
  const creators = routes.filter(({ method, descriptor }) => method === 'POST' && hasId(descriptor.output.fields));
  const found = creators.map((creator) => [creator.descriptor.localName, linksFrom(creator, routes)] as const);
  return new Map(found.filter(([, links]) => Object.keys(links).length > 0));
}

function hasId(fields: Route['descriptor']['output']['fields']): boolean {
  return fields.some(({ name }) => name === 'id');
}

function linksFrom({ path }: Route, routes: readonly Route[]): Schema {
  const above = Object.fromEntries(pathParams(path).map((name) => [name, `$request.path.${name}`]));
  return Object.fromEntries(
    routes.flatMap((target) => {
      const [id, ...others] = target.path.startsWith(`${path}/{`) ? pathParams(target.path.slice(path.length)) : [];
      if (id === undefined || others.length > 0) return [];
      const operationId = target.descriptor.localName;
      return [[operationId, { operationId, parameters: { ...above, [id]: '$response.body#/data/id' } }]];
    }),
  );
}
