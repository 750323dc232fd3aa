import { type FieldShape, shapesOf } from '../descriptors/shape.js';
import { pathParams } from '../request/endpoint.js';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../request/page.js';
import type { Route } from '../routes.js';
import { ERROR_RESPONSES, headerRefs } from './components.js';
import type { Schemas } from './schemas.js';
import type { Schema } from './values.js';

const BASE_VERSION = { type: 'integer', minimum: 0, description: 'The version that the record must still have.' };

/** Describes one endpoint. */
export function operationOf(schemas: Schemas, route: Route): Schema {
  const { contract, descriptor, method, scope } = route;
  const shapes = shapesOf(contract, descriptor.input).filter(({ rules }) => rules.from === '');
  const comment = contract.comment(descriptor);
  const [summary = descriptor.name] = comment.split(/(?<=[.:;])\s/);
  const security = scope === 'none' ? [] : [scope];
  const read = method === 'GET';
  return {
    operationId: descriptor.localName,
    tags: [tagOf(route)],
    summary: summary.replace(/[.:;]$/, ''),
    description: `${comment}\n\n${SCOPES[scope] ?? `Scope: \`${scope}\`.`}`,
    parameters: parametersOf(schemas, route, shapes),
    ...bodyOf(schemas, route, shapes),
    responses: responsesOf(schemas, route),
    security: scope === 'public' ? [] : securityOf(security, read),
    'x-scope': scope,
    ...(route.also.length > 0 ? { 'x-also-scopes': route.also } : {}),
    'x-preview': route.preview,
    'x-rate-limits': ['default', ...route.limits],
  };
}

const SCOPES: Readonly<Record<string, string>> = {
  none: 'Needs a credential, but no scope.',
  public: 'Needs no credential but what stands in the path.',
};

function securityOf(scopes: readonly string[], read: boolean): Schema[] {
  return read ? [{ bearer: scopes }, { session: scopes }] : [{ bearer: scopes }, { session: scopes, csrf: [] }];
}

/** The area of an endpoint: its service's name in words. */
export function tagOf({ service }: Route): string {
  const name = service.slice(service.lastIndexOf('.') + 1).replace(/Service$/, '');
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
}

function parametersOf(schemas: Schemas, route: Route, shapes: readonly FieldShape[]): Schema[] {
  const { method, path } = route;
  const inPath = pathParams(path);
  const parameters: Schema[] = [];
  for (const name of inPath) {
    const shape = shapes.find((each) => each.name === name);
    if (shape === undefined) continue;
    const schema = schemas.field(shape, 'input');
    parameters.push({ name, in: 'path', required: true, schema });
  }
  const shared = ['Tenant', 'WorkspaceId', 'ShareLink', 'ClientRequestId'];
  if (method === 'GET' || method === 'DELETE') {
    for (const shape of shapes) {
      if (!inPath.includes(shape.name)) parameters.push(...queryParameters(schemas, shape));
    }
  }
  if (method === 'DELETE') parameters.push({ name: 'base_version', in: 'query', schema: BASE_VERSION });
  if (method === 'GET') {
    parameters.push({
      name: 'fields',
      in: 'query',
      description: 'The fields of each record to answer with, parted by commas; all when absent.',
      ...asList({ type: 'array', items: { type: 'string', enum: [...route.recordFields] } }),
    });
    shared.push('IfNoneMatch');
  } else {
    shared.push('IdempotencyKey');
    if (method !== 'POST') shared.push('IfMatch');
  }
  return [...parameters, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function queryParameters(schemas: Schemas, shape: FieldShape): Schema[] {
  const { element, rules, cardinality, name } = shape;
  if (element.kind === 'mask') return [];
  if (element.kind === 'page-request') {
    return [
      { name: 'limit', in: 'query', schema: limitSchema(shape) },
      { $ref: '#/components/parameters/Offset' },
      { $ref: '#/components/parameters/Cursor' },
    ];
  }
  const { description, ...schema } = schemas.field(shape, 'input');
  const list = cardinality === 'list' || element.kind === 'wrapped';
  return [
    {
      name,
      in: 'query',
      ...(typeof description === 'string' ? { description } : {}),
      ...(rules.required ? { required: true } : {}),
      ...(element.kind === 'json'
        ? { content: { 'application/json': { schema } } }
        : list
          ? asList(schema)
          : { schema }),
    },
  ];
}

function asList(schema: Schema): Schema {
  return { schema, style: 'form', explode: false };
}

function limitSchema({ rules }: FieldShape): Schema {
  const most = rules.maxLimit > 0 ? rules.maxLimit : MAX_LIMIT;
  const usual = rules.defaultLimit > 0 ? rules.defaultLimit : DEFAULT_LIMIT;
  return {
    type: 'integer',
    minimum: 1,
    default: usual,
    description: `How many items to answer with; more than ${most} is taken as ${most}.`,
  };
}

function bodyOf(schemas: Schemas, route: Route, shapes: readonly FieldShape[]): Schema {
  const { method, path, descriptor } = route;
  if (method === 'GET' || method === 'DELETE') return {};
  const inPath = pathParams(path);
  const fields = shapes.filter(({ name, element }) => !inPath.includes(name) && element.kind !== 'mask');
  const own = fields.filter(({ element }) => element.kind !== 'page-request');
  const page = fields.find(({ element }) => element.kind === 'page-request');
  const whole = own.find(({ name }) => name === route.bodyField);
  if (whole !== undefined) {
    const anything = { schema: schemas.field(whole, 'input') };
    const encoded = route.formEncoded ? { 'application/x-www-form-urlencoded': anything } : {};
    return { requestBody: { required: true, content: { 'application/json': anything, ...encoded } } };
  }
  const schema = schemas.define(descriptor.input, descriptor.input.name, () => {
    const object = schemas.object(descriptor.input, own, 'input');
    const extra: Schema = method === 'POST' ? {} : { base_version: BASE_VERSION };
    if (page !== undefined) {
      Object.assign(extra, {
        limit: limitSchema(page),
        offset: { type: 'integer', minimum: 0 },
        cursor: { type: 'string' },
      });
    }
    return { ...object, properties: { ...(object.properties as Schema), ...extra } };
  });
  const required = own.some(({ rules }) => rules.required);
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

function responsesOf(schemas: Schemas, route: Route): Schema {
  const { contract, method, descriptor, success } = route;
  const { output } = descriptor;
  const versioned = shapesOf(contract, output).some(({ name }) => name === 'version');
  const polled = route.watchable ? ['Retry-After'] : [];
  const own = [...(versioned || method === 'GET' ? ['ETag'] : []), ...(method === 'GET' ? [] : REPLAY), ...polled];
  const responses: Schema = {
    [success]: {
      description: SUCCESS[success] ?? 'Done.',
      headers: headerRefs(['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...own]),
      content: { 'application/json': { schema: envelopeOf(schemas, route) } },
    },
  };
  if (method === 'GET') responses[304] = { description: 'What the client has is still good.' };
  for (const [status, name] of Object.entries(ERROR_RESPONSES)) {
    if (status !== '409' || method !== 'GET') responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return responses;
}

const REPLAY = ['Idempotency-Replayed', 'Original-Request-Id'];
const SUCCESS: Readonly<Record<number, string>> = { 200: 'Done.', 201: 'Created.', 202: 'Accepted.' };

function envelopeOf(schemas: Schemas, { contract, descriptor: { output } }: Route): Schema {
  const shapes = shapesOf(contract, output);
  const page = shapes.find(({ element }) => element.kind === 'page');
  const own = shapes.filter((shape) => shape !== page);
  return {
    type: 'object',
    required: ['data', 'request_id', ...(page === undefined || page.rules.sparse ? [] : ['page'])],
    properties: {
      data: schemas.define(output, output.name, () => schemas.object(output, own, 'output')),
      request_id: { $ref: '#/components/schemas/RequestId' },
      ...(page === undefined ? {} : { page: schemas.field(page, 'output') }),
      warnings: { type: 'array', items: { $ref: '#/components/schemas/Warning' } },
    },
  };
}
