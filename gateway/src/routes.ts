import type { DescMethod } from '@bufbuild/protobuf';
import type { HttpRule } from '@commonplace/proto/google/api/http.js';
import { type Contract, loadContract } from './descriptors/contract.js';
import { compileEndpoint, pathParams } from './request/endpoint.js';
import { createPlans } from './request/plan.js';
import type { Method, ParsedRequest, RequestInput } from './request/reading.js';
import { compileAnswer, type WrittenResponse } from './response/answer.js';
import { createWriters } from './response/message.js';

/** One endpoint, with everything that the contract says about it. */
export interface Route {
  readonly method: Method;
  /** `/api/v1/resources/{resource_id}` */
  readonly path: string;
  /** `/api/v1/resources/:resource_id` */
  readonly koaPath: string;
  /** `resource:read`, `none`, or `public`: no credential is asked for. */
  readonly scope: string;
  /** Scopes that open the endpoint as well. */
  readonly also: readonly string[];
  /** HTTP status of a success. */
  readonly success: number;
  readonly preview: boolean;
  /** Rate limit policies besides `default`. */
  readonly limits: readonly string[];
  /** The version in ETag and If-Match is the content's. */
  readonly content: boolean;
  /** Seconds that a client may keep the answer, private to it; undefined for none. */
  readonly maxAgeSeconds: number | undefined;
  /** The field of the request that takes the body as a whole; `*` for none. */
  readonly bodyField: string;
  /** Nobody on the way may keep the answer. */
  readonly uncached: boolean;
  /** The body may be that of an HTML form. */
  readonly formEncoded: boolean;
  /** The record can be followed as server-sent events. */
  readonly watchable: boolean;
  /** `/commonplace.resources.v1.ResourceService/GetResource` */
  readonly fullMethod: string;
  /** `commonplace.resources.v1.ResourceService` */
  readonly service: string;
  /** `GetResource` */
  readonly rpc: string;
  readonly descriptor: DescMethod;
  /** Where the route was read from. */
  readonly contract: Contract;
  /** The fields that `fields=` may name: of each item in a list, else of the answer itself. */
  readonly recordFields: ReadonlySet<string>;
  /** Makes what reads its requests and writes its answers, which the first of them does otherwise. */
  compile(): void;
  /** Throws the kit's AppError with all faults of the request at once. */
  parseRequest(input: RequestInput): ParsedRequest;
  writeResponse(message: object, fields?: ReadonlySet<string>): WrittenResponse;
  /** The `version` of the record in an answer, for its ETag. */
  versionOf(message: object): number | undefined;
}

/**
 * All endpoints of the contract, the more exact paths first: a router that takes the first match is right.
 * Throws where a method on HTTP has no scope, two have the same route, or HTTP can't carry a message.
 */
export function createRoutes(contract: Contract = loadContract()): Route[] {
  const routes = routesOf(contract);
  for (const { compile } of routes) compile();
  return routes;
}

/**
 * The same, each compiled with its first request, which takes it about a millisecond; all at once would be a tenth of a
 * start. Whether HTTP can carry every message of this build is for its tests to say.
 */
export function routesOf(contract: Contract = loadContract()): Route[] {
  const describe = routeCompiler(contract);
  const routes = contract.services.flatMap((service) => service.methods.flatMap(describe));
  const seen = new Set<string>();
  for (const { method, path, fullMethod } of routes) {
    const key = `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
    if (seen.has(key)) throw new Error(`${fullMethod}: there is another method for ${method} ${path}`);
    seen.add(key);
  }
  return routes.sort((a, b) => compareText(sortKey(a), sortKey(b)));
}

function routeCompiler(contract: Contract): (method: DescMethod) => Route[] {
  const plans = createPlans(contract);
  const writersOf = createWriters(contract);
  return (descriptor) => {
    const http = contract.http(descriptor);
    if (http === undefined) return [];
    const { typeName } = descriptor.parent;
    const fullMethod = `/${typeName}/${descriptor.name}`;
    const access = contract.access(descriptor);
    if (access === undefined || access.scope === '') throw new Error(`${fullMethod} is on HTTP and has no scope`);
    if (descriptor.methodKind !== 'unary') throw new Error(`${fullMethod} is on HTTP and streams`);
    const answer = once(() => compileAnswer(writersOf, descriptor.output, access.record));
    return [http, ...http.additionalBindings].map((rule) => {
      const { method, path, bodyField } = bindingOf(rule, descriptor);
      const { input } = descriptor;
      const parse = once(() =>
        compileEndpoint(plans, { method, path, input, bodyField, recordFields: answer().recordFields }),
      );
      return {
        method,
        path,
        koaPath: path.replace(/\{(\w+)\}/g, ':$1'),
        scope: access.scope,
        also: access.also,
        success: access.success === 0 ? 200 : access.success,
        preview: access.preview,
        limits: access.limits.length > 0 || method === 'GET' ? access.limits : ['write'],
        content: access.content,
        maxAgeSeconds: access.maxAgeSeconds === 0 ? undefined : access.maxAgeSeconds,
        bodyField,
        uncached: access.uncached,
        formEncoded: access.formEncoded,
        watchable: access.watchable,
        fullMethod,
        service: typeName,
        rpc: descriptor.name,
        descriptor,
        contract,
        get recordFields() {
          return answer().recordFields;
        },
        compile: () => void parse(),
        parseRequest: (given) => parse()(given),
        writeResponse: (message, fields) => answer().write(message, fields),
        versionOf: (message) => answer().versionOf(message),
      };
    });
  };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function bindingOf(rule: HttpRule, descriptor: DescMethod): { method: Method; path: string; bodyField: string } {
  const fullMethod = `/${descriptor.parent.typeName}/${descriptor.name}`;
  const patterns: [Method, string | undefined][] = [
    ['GET', rule.get],
    ['POST', rule.post],
    ['PATCH', rule.patch],
    ['PUT', rule.put],
    ['DELETE', rule.delete],
  ];
  const [method, path] = patterns.find(([, template]) => template !== undefined) ?? [];
  if (method === undefined || path === undefined) throw new Error(`${fullMethod} has an HTTP rule without a path`);
  if (pathParams(path).length !== path.split(/[{}]/).length >> 1) throw new Error(`${fullMethod}: ${path} is no path`);
  const bodyless = method === 'GET' || method === 'DELETE';
  const whole = descriptor.input.fields.some(({ name }) => name === rule.body && method === 'POST');
  if (!whole && rule.body !== (bodyless ? '' : '*'))
    throw new Error(`${fullMethod}: the body of ${method} must be "${bodyless ? '' : '*'}" in the contract`);
  return { method, path, bodyField: whole ? rule.body : '*' };
}

/** Sorts a word before a parameter in the same place. */
function sortKey({ path, method }: Route): string {
  return `${path.replaceAll('{', '\u007f')} ${method}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
