import { AppError } from '@commonplace/kit/errors';
import type { ParsedRequest, RequestInput } from '../src/request/reading.js';
import type { Route } from '../src/routes.js';

export const ID = '0197c0de-0000-7000-8000-000000000001';
export const OTHER = '0197c0de-0000-7000-8000-000000000002';

/** A request of which only what matters is said. */
export type Asked = Partial<RequestInput>;

/** Parses requests of the endpoint of an rpc. */
export function parserOf(routes: readonly Route[], rpc: string): (asked: Asked) => ParsedRequest {
  const route = routes.find((each) => each.rpc === rpc);
  if (route === undefined) throw new Error(`no route of ${rpc}`);
  return (asked) => route.parseRequest({ params: {}, query: {}, ...asked });
}

/** What is wrong with a request: parameter and code of each fault. Fails where nothing is. */
export function faultsOf(parse: () => unknown): [string, string][] {
  try {
    parse();
  } catch (error) {
    if (error instanceof AppError) return error.faults.map(({ param, code }) => [param, code]);
    throw error;
  }
  throw new Error('the request was taken');
}
