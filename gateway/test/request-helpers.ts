import { AppError } from '@commonplace/kit/errors';
import type { ParsedRequest, RequestInput } from '../src/request/reading.js';
import type { Route } from '../src/routes.js';

export const ID = '0197c0de-0000-7000-8000-000000000001';
export const OTHER = '0197c0de-0000-7000-8000-000000000002';

/** A request with only the parts that matter to a test. */
export type RequestParts = Partial<RequestInput>;

/** Returns a function that parses requests of an rpc's endpoint. */
export function parserOf(routes: readonly Route[], rpc: string): (parts: RequestParts) => ParsedRequest {
  const route = routes.find((each) => each.rpc === rpc);
  if (route === undefined) throw new Error(`no route of ${rpc}`);
  return (parts) => route.parseRequest({ params: {}, query: {}, ...parts });
}

/** Returns the parameter and code of each fault of a request. Throws if it has none. */
export function faultsOf(parse: () => unknown): [string, string][] {
  try {
    parse();
  } catch (error) {
    if (error instanceof AppError) return error.faults.map(({ param, code }) => [param, code]);
    throw error;
  }
  throw new Error('the request was taken');
}
