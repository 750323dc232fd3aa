import type { IncomingHttpHeaders } from 'node:http';
import { createFaults, type Faults, invalidFields } from '@commonplace/kit/errors';
import type { BatchCall } from '@commonplace/proto/gateway/v1/batch_service.js';
import { headerFault } from './headers.js';

/** Matches paths of the API as they are sent: printable ASCII without a fragment and without backslashes. */
const PATH = /^\/api\/v1\/[!"$-[\]-~]*$/;
/** Matches a segment `.` or `..`, encoded or not. */
const DOTS = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Throws an error with all faults of the calls of a batch, before any of them begins. */
export function requireCalls(calls: readonly BatchCall[], batch: IncomingHttpHeaders, maxCalls: number): void {
  const faults = createFaults();
  if (calls.length > maxCalls) faults.add('requests', 'too_many_items', `must have ${maxCalls} items or fewer.`);
  const ids = new Set<string>();
  for (const [i, call] of calls.entries()) {
    const at = `requests[${i}]`;
    checkPath(call, at, faults);
    checkHeaders(call, at, batch, faults);
    for (const [k, id] of call.dependsOn.entries()) {
      if (!ids.has(id)) {
        faults.add(`${at}.depends_on[${k}]`, 'invalid_value', 'must be the id of a call before this one.');
      }
    }
    if (ids.has(call.id)) faults.add(`${at}.id`, 'invalid_value', 'must not be the id of a call before this one.');
    ids.add(call.id);
  }
  if (faults.list.length > 0) throw invalidFields(faults.list);
}

function checkPath({ method, path, body }: BatchCall, at: string, faults: Faults): void {
  const [withoutQuery = ''] = path.split('?', 1);
  if (!PATH.test(path) || DOTS.test(withoutQuery)) {
    faults.add(`${at}.path`, 'invalid_value', PATH_RULE);
  }
  if (method === 'GET' && body.length > 0) faults.add(`${at}.body`, 'invalid_value', 'must be absent from a GET.');
}

const PATH_RULE = 'must begin with /api/v1/ and be ASCII without spaces, fragments, backslashes and segments of dots.';

function checkHeaders({ headers }: BatchCall, at: string, batch: IncomingHttpHeaders, faults: Faults): void {
  const names = new Set<string>();
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    const trouble = names.has(name) ? 'is given twice, in different spellings.' : headerFault(name, value, batch);
    if (trouble !== undefined) faults.add(`${at}.headers.${given}`, 'invalid_value', trouble);
    names.add(name);
  }
}
