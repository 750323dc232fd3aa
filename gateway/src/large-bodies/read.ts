import { parseBody } from '@commonplace/kit/http';
import { fingerprint } from '@commonplace/kit/id';
import type { Route } from '../routes.js';
import type { ReadRequest, ReadTask } from './protocol.js';

/**
 * Validates the body of a request and builds the message for the service. Throws like `parseBody` and `parseRequest`.
 */
export function readRequest(
  route: Pick<Route, 'parseRequest' | 'deepFields'>,
  task: Omit<ReadTask, 'method' | 'path'>,
): ReadRequest {
  const bytes = Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength);
  const request = route.parseRequest({
    params: task.params,
    query: task.query,
    body: parseBody(task.contentType, bytes, route.deepFields()),
    facts: (name) => task.facts[name] ?? '',
  });
  const { hashedWith } = task;
  return { request, fingerprint: hashedWith === undefined ? undefined : fingerprint(bytes, hashedWith) };
}
