import { MAX_NAMES } from '@commonplace/kit/http';
import { enumName } from '@commonplace/platform/enums';
import { WorkspaceLimit } from '@commonplace/proto/api/v1/access.js';
import { FILE_PART } from '../body/multipart.js';
import { type FieldShape, shapesOf } from '../descriptors/shape.js';
import { pathParams } from '../request/endpoint.js';
import { DEFAULT_LIMIT, MAX_CURSOR, MAX_DEPTH, MAX_LIMIT } from '../request/page.js';
import type { Route } from '../routes.js';
import { answeredCodes, factsOf } from './answered-codes.js';
import { headerRefs } from './components.js';
import { alternativesNote, bodyConstraints, constraintsBeside, fieldsBeside } from './constraints.js';
import type { ErrorAnswers } from './error-answers.js';
import type { Schemas } from './schemas.js';
import type { Schema } from './values.js';

const BASE_VERSION = {
  type: 'integer',
  format: 'int64',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The version that the record must still have.',
};

/** Describes one endpoint, whose answer leads to others by `links`. */
export function operationOf(schemas: Schemas, errors: ErrorAnswers, route: Route, links?: Schema): Schema {
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
    description: `${comment}\n\n${SCOPES[scope] ?? `Scope: \`${scope}\`.`}${limitText(route)}`,
    parameters: parametersOf(schemas, route, shapes),
    ...bodyOf(schemas, route, shapes),
    responses: {
      ...responsesOf(schemas, route, links),
      ...errors.answersOf(descriptor.localName, answeredCodes(factsOf(route))),
    },
    security: scope === 'public' ? [] : securityOf(security, read),
    'x-scope': scope,
    ...(route.also.length > 0 ? { 'x-also-scopes': route.also } : {}),
    'x-workspace-limited-keys': limitName(route),
    'x-preview': route.preview,
    'x-errors': route.errors,
    'x-rate-limits': [...new Set(['default', ...route.limits, ...route.limitsWhen.flatMap(({ limits }) => limits)])],
    ...queryRules(route, shapes),
  };
}

/**
 * Returns the rules between query parameters as the schema of an object in an extension, because OpenAPI 3.1 can't
 * express them.
 */
function queryRules({ contract, descriptor, method }: Route, shapes: readonly FieldShape[]): Schema {
  if (method !== 'GET' && method !== 'DELETE') return {};
  const rules = bodyConstraints(contract, descriptor.input, shapes, false);
  return Object.keys(rules).length === 0 ? {} : { 'x-parameter-rules': rules };
}

const SCOPES: Readonly<Record<string, string>> = {
  none: 'Needs a credential, but no scope.',
  public: 'Needs no credential other than the token or id in the path.',
};

const LIMITS: Partial<Record<WorkspaceLimit, string>> = {
  [WorkspaceLimit.REFUSED]: 'Keys that are limited to workspaces are refused.',
  [WorkspaceLimit.ADDRESSED]: 'A key that is limited to workspaces reaches what belongs to them.',
  [WorkspaceLimit.FILTERED]: 'For a key that is limited to workspaces, holds what belongs to them alone.',
};

function limitText({ scope, workspaceLimit }: Route): string {
  const text = scope === 'public' ? undefined : LIMITS[decided(workspaceLimit)];
  return text === undefined ? '' : ` ${text}`;
}

/** Returns the name of the limit in lower case: `WORKSPACE_LIMIT_REFUSED` → `refused`. */
function limitName({ workspaceLimit }: Route): string {
  return enumName(decided(workspaceLimit), 'WORKSPACE_LIMIT');
}

/** Returns the effective limit. Keys limited to workspaces are refused if the contract declares nothing. */
function decided(limit: WorkspaceLimit): WorkspaceLimit {
  return limit === WorkspaceLimit.UNSPECIFIED ? WorkspaceLimit.REFUSED : limit;
}

function securityOf(scopes: readonly string[], read: boolean): Schema[] {
  return read ? [{ bearer: scopes }, { session: scopes }] : [{ bearer: scopes }, { session: scopes, csrf: [] }];
}

/** Returns the tag of an endpoint: its service's name in words. */
export function tagOf({ service }: Route): string {
  const name = service.slice(service.lastIndexOf('.') + 1).replace(/Service$/, '');
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
}

/** The idempotency key of a request without a credential. Its form is up to the sender. */
const ANY_KEY: Schema = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A request with the same key is taken once.',
  schema: { type: 'string' },
};

/** Returns the key's header for an endpoint that reads it without a credential; empty for all others. */
function ownKeys({ contract, descriptor }: Route): Schema[] {
  return shapesOf(contract, descriptor.input).some(({ rules }) => rules.from.includes('idempotency-key'))
    ? [ANY_KEY]
    : [];
}

function parametersOf(schemas: Schemas, route: Route, shapes: readonly FieldShape[]): Schema[] {
  const { method, path } = route;
  const inPath = pathParams(path);
  const parameters: Schema[] = [];
  for (const name of inPath) {
    const shape = shapes.find((each) => each.name === name);
    if (shape === undefined) continue;
    const schema = schemas.field(shape, 'parameter');
    parameters.push({ name, in: 'path', required: true, schema });
  }
  // Without a credential there is nothing that these headers could narrow.
  const narrowing = route.scope === 'public' ? [] : ['Tenant', 'WorkspaceId'];
  const shared = [...narrowing, 'ShareLink', 'ClientRequestId'];
  if (method === 'GET' || method === 'DELETE') {
    for (const shape of shapes) {
      if (!inPath.includes(shape.name)) parameters.push(...queryParameters(schemas, route, shape));
    }
  }
  if (method === 'DELETE') parameters.push({ name: 'base_version', in: 'query', schema: BASE_VERSION });
  if (method === 'GET') {
    parameters.push({
      name: 'fields',
      in: 'query',
      description:
        'The fields of each record to answer with, separated by commas; all when absent. The answer has these alone.',
      ...asList({ type: 'array', items: { type: 'string', enum: [...route.recordFields] }, minItems: 1 }),
    });
    shared.push('IfNoneMatch');
  } else {
    if (route.scope === 'public') parameters.push(...ownKeys(route));
    else shared.push('IdempotencyKey');
    if (method !== 'POST') shared.push('IfMatch');
  }
  return [...parameters, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function queryParameters(schemas: Schemas, { contract, descriptor }: Route, shape: FieldShape): Schema[] {
  const { element, rules, cardinality, name } = shape;
  if (element.kind === 'mask') return [];
  if (element.kind === 'page-request') {
    return [
      { name: 'limit', in: 'query', schema: limitSchema(shape) },
      { $ref: '#/components/parameters/Offset' },
      { $ref: '#/components/parameters/Cursor' },
    ];
  }
  const { description: comment = '', ...schema } = schemas.field(shape, 'parameter');
  const description = [comment, alternativesNote(contract, descriptor.input, name)].filter(Boolean).join(' ');
  const list = cardinality === 'list' || element.kind === 'wrapped';
  return [
    {
      name,
      in: 'query',
      ...(description === '' ? {} : { description }),
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
  const { method, path, descriptor, contract } = route;
  if (method === 'GET' || method === 'DELETE') return {};
  const inPath = pathParams(path);
  const body = contract.example(descriptor.input);
  const example = body === undefined ? {} : { example: body };
  const fields = shapes.filter(({ name, element }) => !inPath.includes(name) && element.kind !== 'mask');
  const own = fields.filter(({ element }) => element.kind !== 'page-request');
  const page = fields.find(({ element }) => element.kind === 'page-request');
  const whole = own.find(({ name }) => name === route.bodyField);
  if (whole !== undefined) {
    const schema = schemas.present(whole, 'input');
    const form = {
      type: 'object',
      ...schema,
      maxProperties: MAX_NAMES,
      propertyNames: { not: { const: '__proto__' } },
    };
    const encoded = route.formEncoded ? { 'application/x-www-form-urlencoded': { schema: form } } : {};
    const required = whole.rules.required;
    return { requestBody: { required, content: { 'application/json': { schema, ...example }, ...encoded } } };
  }
  const schema = schemas.define(descriptor.input, descriptor.input.name, () => {
    const object = schemas.object(descriptor.input, own, 'input');
    const extra: Schema = method === 'POST' ? {} : { base_version: { ...BASE_VERSION, type: ['integer', 'null'] } };
    if (page !== undefined) {
      Object.assign(extra, {
        limit: withoutDefault(limitSchema(page)),
        offset: { type: 'integer', minimum: 0, maximum: MAX_DEPTH },
        cursor: { type: 'string', maxLength: MAX_CURSOR },
      });
    }
    return {
      ...object,
      properties: { ...(object.properties as Schema), ...extra },
      ...bodyConstraints(contract, descriptor.input, own, isUpdate(route, shapes)),
    };
  });
  const needed = contract.alternatives(descriptor.input).some((group) => group.required);
  const required = needed || isUpdate(route, shapes) || own.some(({ rules }) => rules.required);
  const parts =
    route.filePart === undefined
      ? {}
      : { 'multipart/form-data': { schema: multipartOf(schemas, route, own, route.filePart.bytes) } };
  return { requestBody: { required, content: { 'application/json': { schema, ...example }, ...parts } } };
}

/**
 * Describes the parts of a `multipart/form-data` body: the file, and the fields of the request that accompany it. They
 * are never null.
 */
function multipartOf(
  schemas: Schemas,
  { contract, descriptor }: Route,
  own: readonly FieldShape[],
  bytes: string,
): Schema {
  const fields = fieldsBeside(contract, descriptor.input, own, bytes);
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(fields.map((shape) => [shape.name, schemas.present(shape, 'input')])),
      [FILE_PART]: {
        type: 'string',
        contentMediaType: 'application/octet-stream',
        description: 'The bytes of the file.',
      },
    },
    required: [FILE_PART, ...fields.filter(({ rules }) => rules.required).map(({ name }) => name)],
    additionalProperties: false,
    ...constraintsBeside(contract, descriptor.input, fields, bytes),
  };
}

/** Returns whether the endpoint refuses a body without changes. */
function isUpdate({ method, path }: Route, shapes: readonly FieldShape[]): boolean {
  const hasMask = shapes.some(({ element }) => element.kind === 'mask');
  return method === 'PATCH' && (hasMask || !path.endsWith('}'));
}

/** Removes a schema's default, because client generators treat a field with a default as always present. */
function withoutDefault({ default: _, ...schema }: Schema): Schema {
  return schema;
}

function responsesOf(schemas: Schemas, route: Route, links?: Schema): Schema {
  const { contract, method, descriptor } = route;
  const { output } = descriptor;
  const versioned = shapesOf(contract, output).some(({ name }) => name === 'version');
  const polled = route.events === undefined ? [] : ['Retry-After'];
  const own = [...(versioned || method === 'GET' ? ['ETag'] : []), ...(method === 'GET' ? [] : REPLAY), ...polled];
  const responses: Schema = {};
  const schema = envelopeOf(schemas, route);
  for (const success of [route.success, ...route.otherSuccesses]) {
    responses[success] = {
      description: SUCCESS[success] ?? 'Done.',
      headers: headerRefs(['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...own]),
      content: { 'application/json': { schema }, ...eventsOf(route) },
      ...(links === undefined ? {} : { links }),
    };
  }
  if (method === 'GET') responses[304] = { description: 'What the client has is still good.' };
  return responses;
}

/** Describes the event stream of an endpoint. */
function eventsOf({ contract, events }: Route): Schema {
  if (events === undefined) return {};
  const names = events.descriptor.output.fields.map((field) => contract.rules(field).event).filter(Boolean);
  const description =
    `Server-sent events ${names.map((name) => `\`${name}\``).join(', ')}, and \`error\`. The data of each are the record as ` +
    'JSON with `sequence` and `request_id`. `Last-Event-ID` continues behind an event.';
  return { 'text/event-stream': { schema: { type: 'string', description } } };
}

const REPLAY = ['Idempotency-Replayed', 'Original-Request-Id'];
const SUCCESS: Readonly<Record<number, string>> = { 200: 'Done.', 201: 'Created.', 202: 'Accepted.' };

function envelopeOf(schemas: Schemas, route: Route): Schema {
  const { contract, descriptor } = route;
  const { output } = descriptor;
  const shapes = shapesOf(contract, output);
  const page = shapes.find(({ element }) => element.kind === 'page');
  const own = shapes.filter((shape) => shape !== page);
  return {
    type: 'object',
    required: ['data', 'request_id', ...(page === undefined || page.rules.sparse ? [] : ['page'])],
    properties: {
      data: dataOf(schemas, route, own, page),
      request_id: { $ref: '#/components/schemas/RequestId' },
      ...(page === undefined ? {} : { page: schemas.present(page, 'output') }),
      warnings: { type: 'array', items: { $ref: '#/components/schemas/Warning' } },
    },
  };
}

/**
 * Returns the schema of the data of an answer. If the endpoint accepts `fields`, all fields of a record are optional.
 */
function dataOf(schemas: Schemas, route: Route, own: readonly FieldShape[], page: FieldShape | undefined): Schema {
  const { contract, method, descriptor } = route;
  const { output } = descriptor;
  const selectable = method === 'GET' && !descriptor.input.fields.some(({ name }) => name === 'fields');
  const list = own.find(({ name, cardinality }) => page !== undefined && name === 'items' && cardinality === 'list');
  if (!selectable) return schemas.define(output, output.name, () => schemas.object(output, own, 'output'));
  if (list?.element.kind !== 'message') return schemas.selected(output, own);
  const { type } = list.element;
  const items = schemas.selected(type, shapesOf(contract, type));
  const whole = schemas.define(output, output.name, () => {
    const object = schemas.object(output, own, 'output');
    const properties = object.properties as Record<string, Schema>;
    return { ...object, properties: { ...properties, items: { ...properties.items, items } } };
  });
  // Without its page the answer is one record, of which `fields` selects.
  return page?.rules.sparse ? schemas.selected(output, own) : whole;
}
