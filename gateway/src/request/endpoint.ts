import type { DescMessage } from '@bufbuild/protobuf';
import { createFaults, invalidFields } from '@commonplace/kit/errors';
import { requireObject } from '@commonplace/kit/http';
import { Json } from '@commonplace/proto/api/v1/access.js';
import { UPDATE_MASK } from '../descriptors/shape.js';
import type { Mask } from './message.js';
import { PAGE_KEYS, readPage } from './page.js';
import type { FieldPlan, Plans } from './plan.js';
import { readInteger } from './query.js';
import { readBodyAndSelectors } from './read-body.js';
import { readQuery } from './read-query.js';
import { type Endpoint, type Method, type ParsedRequest, type Reading, type RequestInput, textsOf } from './reading.js';

interface EndpointParts {
  readonly method: Method;
  /** Path template, such as `/api/v1/resources/{resource_id}`. */
  readonly path: string;
  readonly input: DescMessage;
  /** The field that holds the whole body; `*` if the fields of the body are those of the request. */
  readonly bodyField: string;
  /** The fields that `fields=` may name. */
  readonly recordFields: ReadonlySet<string>;
}

/**
 * Compiles the reader of an endpoint's requests. The reader throws `no_update_field`, or an error with all faults of a
 * request at once. `compileEndpoint` itself throws if HTTP can't express what the contract demands.
 */
export function compileEndpoint(plans: Plans, parts: EndpointParts): (input: RequestInput) => ParsedRequest {
  const endpoint = createEndpoint(plans, parts);
  const { bodyField } = parts;
  const whole = endpoint.plan.keys.get(bodyField)?.shape.element;
  const takesAny = whole?.kind === 'json' && whole.json === Json.ANY;
  return (given) => {
    const { body = {} } = given;
    const object = takesAny ? {} : requireObject(body);
    const reading: Reading = {
      input: { ...given, body: bodyField === '*' ? object : { [bodyField]: body } },
      message: endpoint.plan.create(),
      faults: createFaults(),
      mask: maskOf(endpoint),
      given: new Set(),
      baseVersion: undefined,
      outdated: undefined,
    };
    readPath(endpoint, reading);
    for (const field of endpoint.filled) reading.message[field.local] = given.facts?.(field.rules.from) ?? '';
    const fields = endpoint.method === 'GET' ? readQuery(endpoint, reading) : readBodyAndSelectors(endpoint, reading);
    if (endpoint.page !== undefined) readPageField(endpoint.page, endpoint.method, reading);
    if (reading.faults.list.length > 0) throw invalidFields(reading.faults.list);
    const { message, baseVersion, outdated } = reading;
    return { message, baseVersion, fields, outdated };
  };
}

/** Returns an empty mask; undefined for an endpoint without one. Only updates change single fields of an object. */
function maskOf({ mask }: Endpoint): Mask | undefined {
  return mask && { paths: [], prefix: '', hasNewObjects: mask.name !== UPDATE_MASK };
}

function createEndpoint(
  plans: Plans,
  { method, path, input, recordFields }: Omit<EndpointParts, 'bodyField'>,
): Endpoint {
  const plan = plans(input);
  const one = (kind: string) => plan.fields.find((field) => field.shape.element.kind === kind);
  const pathFields = pathParams(path).map((name) => {
    const field = plan.keys.get(name);
    if (field?.fromQuery === undefined) throw new Error(`${input.typeName} has no field for {${name}} of ${path}`);
    return field;
  });
  const rest = [...plan.keys.values()].filter((field) => !pathFields.includes(field));
  const unreadable = rest.find((field) => field.fromQuery === undefined);
  if (method === 'GET' && unreadable !== undefined) {
    throw new Error(`${input.typeName}.${unreadable.name} can't come by query, as GET ${path} requires`);
  }
  // A PATCH whose path ends in a word changes one of several things, or a part of the record. Like a DELETE, it may
  // select which one by query. A PATCH whose path ends in an id and that has no mask accepts `{}`.
  const ofPart = method === 'PATCH' && !path.endsWith('}');
  const mask = one('mask');
  const updates = rest.length > 0 && method === 'PATCH' && (mask !== undefined || ofPart);
  const selectable = method === 'DELETE' || ofPart;
  const filled = plan.fields.filter(({ rules }) => rules.from !== '');
  return { method, plan, pathFields, page: one('page-request'), filled, mask, selectable, updates, recordFields };
}

/** Returns the parameter names of a template in order. */
export function pathParams(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

function readPath({ pathFields }: Endpoint, { input, message, faults }: Reading): void {
  for (const field of pathFields) {
    const trial = createFaults();
    message[field.local] = field.fromQuery?.([input.params[field.name] ?? ''], field.name, trial);
    if (trial.list.length > 0 || message[field.local] === '')
      faults.add(field.name, 'invalid_id', 'is not a valid id.');
  }
}

function readPageField(field: FieldPlan, method: Method, { input, message, faults }: Reading): void {
  message[field.local] = readPage(method === 'GET' ? pageQuery(input) : (input.body ?? {}), field.rules, faults);
}

function pageQuery({ query }: RequestInput): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const key of PAGE_KEYS) {
    const texts = textsOf(query[key]);
    if (texts.length === 0) continue;
    const [text = ''] = texts;
    given[key] = texts.length > 1 ? texts : key === 'cursor' ? text : (readInteger(text) ?? text);
  }
  return given;
}
