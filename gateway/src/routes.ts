import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { once } from '@commonplace/kit/cache';
import type { DeepFields } from '@commonplace/kit/http';
import { compareCodeUnits } from '@commonplace/kit/words';
import type { FilePart, Traits, WorkspaceLimit } from '@commonplace/proto/api/v1/access.js';
import type { HttpRule } from '@commonplace/proto/google/api/http.js';
import { type Contract, loadContract } from './descriptors/contract.js';
import { compileEndpoint, pathParams } from './request/endpoint.js';
import { createPlans } from './request/plan.js';
import type { Method, ParsedRequest, RequestInput } from './request/reading.js';
import { compileAnswer, type Shown, type WrittenResponse } from './response/answer.js';
import { compileIncluded } from './response/included.js';
import { createWriters } from './response/message.js';

/** An endpoint with everything that the contract declares about it. */
export interface Route {
  readonly method: Method;
  /** Path template of the contract, such as `/api/v1/resources/{resource_id}`. */
  readonly path: string;
  /** Path of the router, such as `/api/v1/resources/:resource_id`. */
  readonly koaPath: string;
  /** `resource:read`, `none`, or `public` if no credential is needed. */
  readonly scope: string;
  /** Other scopes that open the endpoint. */
  readonly also: readonly string[];
  /** HTTP status of a success. */
  readonly success: number;
  /** Other possible HTTP statuses of a success. */
  readonly otherSuccesses: readonly number[];
  readonly preview: boolean;
  /** Load class, which determines the order of load shedding, and the deadline of a request. */
  readonly traits: Traits;
  /** Error codes specific to the endpoint. */
  readonly errors: readonly string[];
  /** Rate limit policies besides `default`. */
  readonly limits: readonly string[];
  /** Further policies that apply to requests which set one of the named fields. */
  readonly limitsWhen: readonly { readonly given: readonly string[]; readonly limits: readonly string[] }[];
  /** Whether ETag and If-Match contain the version of the content. */
  readonly content: boolean;
  /** Seconds for which a client may cache the answer privately; undefined if it may not. */
  readonly maxAgeSeconds: number | undefined;
  /** The field of the request that holds the whole body; `*` for none. */
  readonly bodyField: string;
  /** Whether the answer must not be cached (`no-store`). */
  readonly uncached: boolean;
  /** Returns the fields of the body that may be nested deeper than others, with their maximum depth. */
  deepFields(): DeepFields;
  /** Whether the body may be an encoded HTML form. */
  readonly formEncoded: boolean;
  /**
   * The fields that the part `file` of a `multipart/form-data` body sets; undefined if the endpoint does not accept
   * one.
   */
  readonly filePart: FilePart | undefined;
  /** The stream that answers requests for server-sent events; undefined if there is none. */
  readonly events: EventRoute | undefined;
  /** The stream about the record that a write has created, which a client may read instead of the answer. */
  readonly eventsAfter: EventsAfter | undefined;
  /** What a key limited to workspaces may reach here. Undeclared means nothing. */
  readonly workspaceLimit: WorkspaceLimit;
  /** Full name, such as `/commonplace.resources.v1.ResourceService/GetResource`. */
  readonly fullMethod: string;
  /** Such as `commonplace.resources.v1.ResourceService`. */
  readonly service: string;
  /** Such as `GetResource`. */
  readonly rpc: string;
  readonly descriptor: DescMethod;
  /** The contract that declares the route. */
  readonly contract: Contract;
  /** The fields that `fields=` may name: of each item in a list, otherwise of the answer itself. */
  readonly recordFields: ReadonlySet<string>;
  /** Values that the gateway fills in itself, by their names in the contract: `client_ip`, `body`, `headers`, `header:<name>`. */
  readonly facts: readonly string[];
  /** Compiles the route's readers and writers. Without this call, the first request does so. */
  compile(): void;
  /** Reads a request. Throws the kit's AppError with all faults of the request at once. */
  parseRequest(input: RequestInput): ParsedRequest;
  /** Returns the lists that a request includes, which are written even if they are empty; undefined if there are none. */
  includedIn(request: object): ReadonlySet<string> | undefined;
  writeResponse(message: object, shown?: Shown): WrittenResponse;
  /** Returns the `version` of the record in an answer, for its ETag. */
  versionOf(message: object): number | undefined;
}

/** An event of a stream in the form in which clients receive it. */
export interface WrittenEvent {
  readonly id: string;
  readonly name: string;
  /** A JSON object. */
  readonly data: string;
}

/** The stream that answers the method and path of an endpoint when a client asks for server-sent events. */
export interface EventRoute extends Pick<Route, 'fullMethod' | 'service' | 'rpc' | 'descriptor' | 'parseRequest'> {
  compile(): void;
  /** Returns the event of a message; undefined for a message that only signals that the stream is open. */
  writeEvent(message: object): WrittenEvent | undefined;
}

/** The stream about the record that an answer names. */
interface EventsAfter {
  readonly events: EventRoute;
  /** Returns the request of the stream; undefined if the answer names no record. */
  requestOf(answer: object): object | undefined;
}

/**
 * Returns all endpoints of the contract, compiled. More specific paths come first, so that a router may use the first
 * match. Throws if a method on HTTP has no scope, two have the same route, or HTTP can't express a message.
 */
export function createRoutes(contract: Contract = loadContract()): Route[] {
  const routes = routesOf(contract);
  for (const { compile, events } of routes) {
    compile();
    events?.compile();
  }
  return routes;
}

/**
 * Returns the same routes uncompiled. The first request of a route compiles it in about a millisecond; compiling all at
 * once would take a tenth of the start time. Tests check that HTTP can express every message of this build.
 */
export function routesOf(contract: Contract = loadContract()): Route[] {
  const describe = routeCompiler(contract);
  const methods = contract.services.flatMap((service) => service.methods);
  const streams = eventRoutes(contract, methods);
  const byMethod = new Map([...streams.values()].map((events) => [events.fullMethod, events]));
  const routes = methods.flatMap(describe).map((route) => {
    const key = `${route.method} ${route.path}`;
    const events = streams.get(key);
    streams.delete(key);
    return Object.assign(route, { events, eventsAfter: eventsAfterOf(route, byMethod) });
  });
  const [alone] = streams.values();
  if (alone !== undefined) throw new Error(`${alone.fullMethod} streams, but no unary method has the same path`);
  const seen = new Set<string>();
  for (const { method, path, fullMethod } of routes) {
    const key = `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
    if (seen.has(key)) throw new Error(`${fullMethod}: there is another method for ${method} ${path}`);
    seen.add(key);
  }
  return routes.sort((a, b) => compareCodeUnits(sortKey(a), sortKey(b)));
}

function deepFieldsOf(contract: Contract, input: DescMessage): DeepFields {
  const depths = input.fields.map((field) => [field.name, contract.rules(field).maxNesting] as const);
  return new Map(depths.filter(([, depth]) => depth > 0));
}

/**
 * Returns the stream that follows a write according to its option `events`. Throws if the contract has no such stream
 * or field.
 */
function eventsAfterOf(
  { traits, fullMethod, descriptor }: Pick<Route, 'traits' | 'fullMethod' | 'descriptor'>,
  streams: ReadonlyMap<string, EventRoute>,
): EventsAfter | undefined {
  if (traits.events === undefined) return undefined;
  const { method, from, to } = traits.events;
  const events = streams.get(`/${method.replace(/\.(\w+)$/, '/$1')}`);
  const source = descriptor.output.fields.find(({ name }) => name === from)?.localName;
  const target = events?.descriptor.input.fields.find(({ name }) => name === to)?.localName;
  if (events === undefined || source === undefined || target === undefined) {
    throw new Error(`${fullMethod} names a stream that the contract does not have`);
  }
  return {
    events,
    requestOf(answer) {
      const id = (answer as Readonly<Record<string, unknown>>)[source];
      return typeof id === 'string' && id !== '' ? { [target]: id } : undefined;
    },
  };
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
    if (access === undefined || access.scope === '') throw new Error(`${fullMethod} is on HTTP but has no scope`);
    if (descriptor.methodKind === 'server_streaming') return [];
    if (descriptor.methodKind !== 'unary')
      throw new Error(`${fullMethod} is on HTTP, which does not support client streaming`);
    const facts = once(() => plans(descriptor.input).fields.flatMap(({ rules }) => rules.from || []));
    const answer = once(() => compileAnswer(writersOf, descriptor.output, access.record));
    const { input } = descriptor;
    const included = once(() => compileIncluded(contract, input, answer()));
    return [http, ...http.additionalBindings].map((rule) => {
      const { method, path, bodyField } = bindingOf(rule, descriptor);
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
        otherSuccesses: access.otherSuccesses,
        preview: access.preview,
        traits: contract.traits(descriptor),
        errors: access.errors,
        limits: access.limits.length > 0 || method === 'GET' ? access.limits : ['write'],
        limitsWhen: access.limitsWhen.map(({ given, limits }) => ({ given: given.map(fieldName), limits })),
        content: access.content,
        maxAgeSeconds: access.maxAgeSeconds === 0 ? undefined : access.maxAgeSeconds,
        bodyField,
        uncached: access.uncached,
        deepFields: once(() => deepFieldsOf(contract, input)),
        formEncoded: access.formEncoded,
        filePart: access.filePart,
        events: undefined,
        eventsAfter: undefined,
        workspaceLimit: access.workspaceLimit,
        fullMethod,
        service: typeName,
        rpc: descriptor.name,
        descriptor,
        contract,
        get recordFields() {
          return answer().recordFields;
        },
        get facts() {
          return facts();
        },
        compile: () => void parse(),
        parseRequest: (given) => parse()(given),
        includedIn: (request) => included()(request),
        writeResponse: (message, shown) => answer().write(message, shown),
        versionOf: (message) => answer().versionOf(message),
      };
    });
  };
}

/** Returns the streams that the contract puts on HTTP, by method and path. */
function eventRoutes(contract: Contract, methods: readonly DescMethod[]): Map<string, EventRoute> {
  const plans = createPlans(contract);
  const writersOf = createWriters(contract);
  const found = new Map<string, EventRoute>();
  for (const descriptor of methods) {
    const http = contract.http(descriptor);
    if (http === undefined || descriptor.methodKind !== 'server_streaming') continue;
    const { input, parent, name } = descriptor;
    const writers = once(() => eventWriters(contract, writersOf, descriptor));
    for (const rule of [http, ...http.additionalBindings]) {
      const { method, path, bodyField } = bindingOf(rule, descriptor);
      const parse = once(() => compileEndpoint(plans, { method, path, input, bodyField, recordFields: new Set() }));
      found.set(`${method} ${path}`, {
        fullMethod: `/${parent.typeName}/${name}`,
        service: parent.typeName,
        rpc: name,
        descriptor,
        compile: () => void [parse(), writers()],
        parseRequest: (given) => parse()(given),
        writeEvent(message) {
          const { id, ...states } = message as { readonly id: string } & Readonly<Record<string, object | undefined>>;
          const writer = writers().find(({ local }) => states[local] !== undefined);
          if (writer === undefined) return undefined;
          return { id, name: writer.event, data: writer.answer.write(states[writer.local] as object).data.join('') };
        },
      });
    }
  }
  return found;
}

/** Returns the writers of a stream's events. Throws if its message names no event, or has no id. */
function eventWriters(contract: Contract, writersOf: ReturnType<typeof createWriters>, { output }: DescMethod) {
  const writers = output.fields.flatMap((field) => {
    const { event } = contract.rules(field);
    if (event === '' || field.message === undefined) return [];
    return [{ local: field.localName, event, answer: compileAnswer(writersOf, field.message) }];
  });
  if (writers.length === 0) throw new Error(`no field of ${output.typeName} names an event`);
  if (!output.fields.some(({ name }) => name === 'id')) throw new Error(`${output.typeName} has no id`);
  return writers;
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

/** Returns a key that sorts a literal segment before a parameter in the same position. */
function sortKey({ path, method }: Route): string {
  return `${path.replaceAll('{', '\u007f')} ${method}`;
}

/** Converts the name of a field to camelCase, as in messages. */
function fieldName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
