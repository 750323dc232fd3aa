import type { Faults } from '@commonplace/kit/errors';
import type { Mask } from './message.js';
import type { FieldPlan, Message, MessagePlan } from './plan.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A request as received over HTTP. */
export interface RequestInput {
  /** Path parameters by name, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, decoded: a list if one is given more than once. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body; ignored for GET. */
  readonly body?: unknown;
  /** Returns the values of fields that clients can't set: `client_ip`, `body`, `headers`, `header:<name>`. */
  readonly facts?: ((name: string) => string) | undefined;
}

/** A request whose body is an object: the request's own fields, or the one field that holds the whole body. */
interface FieldsInput extends RequestInput {
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ParsedRequest {
  /** The rpc's request in the form of the generated code. */
  readonly message: Message;
  /** Version that the record must still have, from `base_version`. */
  readonly baseVersion: number | undefined;
  /** Fields of each record to answer with, from `fields=`; undefined means all. */
  readonly fields: ReadonlySet<string> | undefined;
  /** Names of the previous version that the body uses, by the names that replace them; undefined if it uses none. */
  readonly outdated: Readonly<Record<string, string>> | undefined;
}

/** Facts about an endpoint that are the same for all its requests. */
export interface Endpoint {
  readonly method: Method;
  readonly plan: MessagePlan;
  readonly pathFields: readonly FieldPlan[];
  readonly page: FieldPlan | undefined;
  /** Fields that the gateway fills. */
  readonly filled: readonly FieldPlan[];
  readonly mask: FieldPlan | undefined;
  /** Whether the body's fields may be given by query as well. */
  readonly selectable: boolean;
  /** Whether a request that names no field is refused. */
  readonly updates: boolean;
  readonly recordFields: ReadonlySet<string>;
}

export interface Reading {
  readonly input: FieldsInput;
  readonly message: Message;
  readonly faults: Faults;
  readonly mask: Mask | undefined;
  readonly given: Set<FieldPlan>;
  baseVersion: number | undefined;
  outdated: Readonly<Record<string, string>> | undefined;
}

/** Yields the given query parameters, each with its values. */
export function* queryOf({ query }: RequestInput): Iterable<[string, readonly string[]]> {
  for (const key of Object.keys(query)) {
    const texts = textsOf(query[key]);
    if (texts.length > 0) yield [key, texts];
  }
}

/** Returns a parameter's values; none if it is not given. */
export function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
