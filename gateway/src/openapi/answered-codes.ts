import type { DescMessage } from '@bufbuild/protobuf';
import { ERROR_CODES, type ErrorStatus } from '@commonplace/platform/error-codes';
import type { Contract } from '../descriptors/contract.js';
import { type FieldShape, shapesOf } from '../descriptors/shape.js';
import { pathParams } from '../request/endpoint.js';
import { otherNamesOf } from '../request/plan.js';
import type { Route } from '../routes.js';

/** The error codes that an operation can answer, by status. */
export type AnsweredCodes = Readonly<Partial<Record<ErrorStatus, readonly string[]>>>;

/**
 * Facts about an operation from which its undeclared error codes are derived: its gates, its parameters and its body.
 */
interface OperationFacts {
  readonly writes: boolean;
  /** Whether a JSON body is read. */
  readonly hasBody: boolean;
  /** Whether a credential is required. */
  readonly needsCredential: boolean;
  readonly needsScope: boolean;
  /** Whether an `Idempotency-Key` is honoured. */
  readonly idempotent: boolean;
  /** Whether a version can be required by `If-Match` or `base_version`. */
  readonly conditional: boolean;
  readonly hasIds: boolean;
  readonly paged: boolean;
  readonly hasRequired: boolean;
  readonly hasLimitedLists: boolean;
  readonly hasAliases: boolean;
  readonly updates: boolean;
  /** Codes specific to the operation. */
  readonly declared: readonly string[];
}

/** Returns the facts of an endpoint of the contract. */
export function factsOf(route: Route): OperationFacts {
  const { contract, descriptor, method, path, scope, errors } = route;
  const fields = [...fieldsWithin(contract, descriptor.input)];
  const own = shapesOf(contract, descriptor.input);
  const writes = method !== 'GET';
  const needsCredential = scope !== 'public';
  return {
    writes,
    hasBody: writes,
    needsCredential,
    needsScope: needsCredential && scope !== 'none',
    idempotent: writes && needsCredential,
    conditional: writes && method !== 'POST',
    hasIds: pathParams(path).length > 0,
    paged: own.some(({ element }) => element.kind === 'page-request'),
    hasRequired: fields.some(({ rules }) => rules.required),
    hasLimitedLists: fields.some(({ rules }) => rules.maxItems > 0),
    hasAliases: fields.some(({ rules }) => otherNamesOf(rules).length > 0),
    updates: method === 'PATCH',
    declared: errors,
  };
}

/** Yields all fields of a message, including those of nested messages. */
function* fieldsWithin(contract: Contract, message: DescMessage, seen = new Set<DescMessage>()): Iterable<FieldShape> {
  if (seen.has(message)) return;
  seen.add(message);
  for (const shape of shapesOf(contract, message)) {
    yield shape;
    const { element } = shape;
    if (element.kind === 'message' || element.kind === 'wrapped') yield* fieldsWithin(contract, element.type, seen);
  }
}

/**
 * Returns the codes that an operation can answer, in the order of the catalogue. Throws if a declared code is unknown.
 */
export function answeredCodes(facts: OperationFacts): AnsweredCodes {
  const derived = derivedCodes(facts);
  const left = new Set(facts.declared);
  const answered: Partial<Record<ErrorStatus, string[]>> = {};
  for (const [key, meanings] of Object.entries(ERROR_CODES)) {
    const status = Number(key) as ErrorStatus;
    // A code that exists for two statuses is declared with its status: `403:second_factor_required`.
    const isDeclared = (code: string) => [left.delete(code), left.delete(`${status}:${code}`)].includes(true);
    const codes = Object.keys(meanings).filter((code) => isDeclared(code) || derived[status].has(code));
    if (codes.length > 0) answered[status] = codes;
  }
  if (left.size > 0) throw new Error(`the catalogue has no error ${[...left].join(', ')}`);
  return answered;
}

/**
 * Returns the codes that follow from what operations share: reading a request, gates, idempotent replay and overload.
 */
function derivedCodes(facts: OperationFacts): Record<ErrorStatus, ReadonlySet<string>> {
  const { writes, hasBody, needsCredential, needsScope } = facts;
  const when = (holds: boolean, ...codes: string[]) => (holds ? codes : []);
  return {
    400: new Set([
      // The size of the request line with its headers is limited too.
      ...['invalid_value', 'validation_failed', 'payload_too_large'],
      ...when(writes, 'unknown_parameter'),
      ...when(hasBody, 'invalid_json', 'unsupported_media_type', 'unknown_field', 'invalid_type'),
      ...when(facts.hasRequired, 'missing_field'),
      ...when(facts.hasLimitedLists, 'too_many_items'),
      ...when(facts.hasAliases || facts.conditional, 'conflicting_alias'),
      // A selector or a version may differ between query and body.
      ...when(facts.conditional, 'ambiguous_target'),
      ...when(facts.updates, 'no_update_field'),
      ...when(facts.hasIds || needsCredential, 'invalid_id'),
      ...when(facts.paged, 'invalid_pagination', 'offset_too_deep'),
      ...when(needsCredential, 'multiple_credentials'),
    ]),
    401: new Set(
      when(
        needsCredential,
        ...['missing_credentials', 'invalid_credentials', 'expired_credentials', 'revoked_key', 'suspended_key'],
      ),
    ),
    403: new Set([
      ...when(needsScope, 'insufficient_scope'),
      ...when(needsCredential, 'tenant_boundary', 'ip_not_allowed', 'second_factor_required'),
      ...when(needsCredential && writes, 'csrf_failed'),
    ]),
    404: new Set(when(facts.hasIds || needsCredential, 'not_found')),
    409: new Set([
      ...when(facts.conditional, 'version_conflict'),
      ...when(facts.idempotent, 'idempotency_key_reused', 'idempotency_in_progress'),
    ]),
    429: new Set(['rate_limited', 'concurrency_limited']),
    500: new Set(['internal_error']),
    503: new Set(['service_unavailable', 'timeout', ...when(writes, 'storage_full')]),
  };
}
