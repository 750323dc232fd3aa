import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { createFaults, invalidFields } from '@commonplace/kit/errors';
import { BATCH_METHOD } from '../../batch/gate.js';
import { pathParams } from '../../request/endpoint.js';
import { PAGE_KEYS } from '../../request/page.js';
import type { Route } from '../../routes.js';

/** Arguments of an operation by their names in the contract. One object contains those of path, query and body. */
export type Arguments = Readonly<Record<string, unknown>>;

interface OperationRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

/** The effect of an operation, in the terms by which MCP describes tools. */
interface Effect {
  readonly readOnlyHint: boolean;
  /** Whether it changes or deletes existing data, rather than only adding to it. */
  readonly destructiveHint: boolean;
  /** Whether repeating it has no further effect. */
  readonly idempotentHint: boolean;
}

/** The operations of the API by the names of their rpcs, such as `getResource`. */
export type Operations = ReadonlyMap<string, Route>;

/** Indexes routes by the name of their operation. Throws if two have the same name. */
export function indexOperations(routes: readonly Route[]): Operations {
  const operations = new Map(routes.map((route) => [route.descriptor.localName, route]));
  if (operations.size < routes.length) throw new Error('two endpoints have the same operation name');
  return operations;
}

function isReadOnly({ descriptor }: Route): boolean {
  return descriptor.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** Returns the combined effect of a tool that may call any of the routes. */
export function effectOf(routes: readonly Route[]): Effect {
  const writes = routes.filter((route) => !isReadOnly(route));
  return {
    readOnlyHint: writes.length === 0,
    destructiveHint: writes.some(changesOrDeletes),
    idempotentHint: writes.every(({ method }) => method === 'PUT' || method === 'DELETE'),
  };
}

/** Returns whether a write may do more than add. The calls of a batch may do anything. */
function changesOrDeletes({ method, traits, fullMethod }: Route): boolean {
  return method !== 'POST' || traits.deletes || fullMethod === BATCH_METHOD;
}

/**
 * Distributes the arguments of an operation to path, query and body. Throws `validation_failed` if a path parameter is
 * missing, or if a read has an unknown argument, which HTTP would ignore.
 */
export function requestOf(route: Route, args: Arguments): OperationRequest {
  const { method, bodyField } = route;
  const inPath = pathParams(route.path);
  const missing = inPath.filter((name) => textOf(args[name]) === '');
  if (missing.length > 0) throw invalidFields(missing.map((param) => fault(param, 'missing_field', 'is required.')));
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(textOf(args[name])));
  const rest = Object.entries(args).filter(([name, value]) => !inPath.includes(name) && value !== undefined);
  if (method === 'GET') return { method, path: path + queryOf(route, rest), body: undefined };
  const body = Object.fromEntries(rest);
  return { method, path, body: JSON.stringify(bodyField === '*' ? body : (body[bodyField] ?? {})) };
}

function queryOf(route: Route, args: readonly (readonly [string, unknown])[]): string {
  const known = queryNames(route);
  const names = [...known].join(', ');
  const faults = createFaults();
  for (const [name] of args) if (!known.has(name)) faults.add(name, 'unknown_parameter', `is not one of ${names}.`);
  if (faults.list.length > 0) throw invalidFields(faults.list);
  const query = new URLSearchParams();
  for (const [name, value] of args) if (value !== null) query.append(name, textOf(value));
  return query.size === 0 ? '' : `?${query}`;
}

/** Returns the names of the query parameters of a read. */
function queryNames({ descriptor }: Route): ReadonlySet<string> {
  const names = descriptor.input.fields.flatMap(({ name, message }) =>
    message?.typeName === 'commonplace.api.v1.PageRequest' ? [...PAGE_KEYS] : [name],
  );
  return new Set([...names, 'fields']);
}

/** Formats a value for a path or a query. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(',');
  return JSON.stringify(value);
}

function fault(param: string, code: string, message: string) {
  return { param, code, message: `${param} ${message}` };
}
