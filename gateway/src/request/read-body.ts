import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@commonplace/kit/errors';
import { readField, requireField, UNKNOWN } from './message.js';
import { PAGE_KEYS } from './page.js';
import { otherNamesOf } from './plan.js';
import { readInteger } from './query.js';
import { type Endpoint, queryOf, type Reading } from './reading.js';

/** Reads the body of a request other than GET, and the query parameters that may select its target. */
export function readBodyAndSelectors(endpoint: Endpoint, reading: Reading): undefined {
  const { body } = reading.input;
  readBody(endpoint, body, reading);
  readSelectors(endpoint, reading);
  const { faults, given, mask } = reading;
  if (endpoint.updates && faults.list.length === 0 && (mask ? mask.paths.length === 0 : given.size === 0)) {
    throw new AppError('INVALID_ARGUMENT', 'no_update_field', 'The request names no field to change.');
  }
  for (const field of endpoint.plan.fields) {
    const isInBody = [field.name, ...otherNamesOf(field.rules)].some((name) => Object.hasOwn(body, name));
    const byQuery = given.has(field) && !isInBody;
    if (!endpoint.pathFields.includes(field) && !byQuery) requireField(field, body, '', faults);
  }
  if (endpoint.mask !== undefined && mask !== undefined) reading.message[endpoint.mask.local] = mask.paths;
  return undefined;
}

function readBody(endpoint: Endpoint, body: Readonly<Record<string, unknown>>, reading: Reading): void {
  const { plan, pathFields, page } = endpoint;
  const { message, faults, mask, given, input } = reading;
  const lastId = pathFields.at(-1)?.name;
  for (const key of Object.keys(body)) {
    const field = plan.keys.get(key);
    if (field === undefined && key === 'base_version' && endpoint.method !== 'POST') {
      readBaseVersion(body[key], reading);
    } else if (field !== undefined && !pathFields.includes(field)) {
      readField(field, body, key, key, message, faults, mask);
      given.add(field);
      if (key === field.rules.former) reading.outdated = { ...reading.outdated, [field.name]: key };
    } else if (page === undefined || !PAGE_KEYS.has(key)) {
      // A client may send back what it received: an id or path parameter in the body is accepted if it equals that of
      // the path.
      const repeated = field?.name ?? (key === 'id' ? lastId : undefined);
      if (repeated === undefined || body[key] !== input.params[repeated]) faults.add(key, 'unknown_field', UNKNOWN);
    }
  }
}

function readSelectors(endpoint: Endpoint, reading: Reading): void {
  const { plan, pathFields, selectable, method } = endpoint;
  const { input, message, faults, given } = reading;
  for (const [key, texts] of queryOf(input)) {
    const field = selectable ? plan.keys.get(key) : undefined;
    if (field?.fromQuery !== undefined && !pathFields.includes(field)) {
      const value = field.fromQuery(texts, key, faults);
      if (given.has(field) && !isDeepStrictEqual(value, message[field.local]))
        faults.add(key, 'ambiguous_target', BOTH);
      message[field.local] = value;
      given.add(field);
    } else if (key === 'base_version' && method === 'DELETE') {
      const before = reading.baseVersion;
      readBaseVersion(readInteger(texts.join()), reading);
      if (before !== undefined && before !== reading.baseVersion) faults.add(key, 'ambiguous_target', BOTH);
    } else {
      faults.add(key, 'unknown_parameter', 'is not a query parameter of this request.');
    }
  }
}

const BOTH = 'is given by query and by body with different values.';

function readBaseVersion(value: unknown, reading: Reading): void {
  if (value === null) return;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) reading.baseVersion = value;
  else reading.faults.add('base_version', typeof value === 'number' ? 'invalid_value' : 'invalid_type', VERSION);
}

const VERSION = 'must be a whole number, 0 or more.';
