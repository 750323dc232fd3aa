/**
 * The one kind of error that crosses a hop. `code` is a canonical gRPC code, `reason` the stable
 * code that clients see; the gateway maps them to HTTP.
 */
export type Code =
  | 'INVALID_ARGUMENT'
  | 'FAILED_PRECONDITION'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'ABORTED'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'CANCELLED'
  | 'INTERNAL';

/** One fault of one field; `param` in the spelling of the API (`rows[3].name`). */
export interface Fault {
  param: string;
  code: string;
  message: string;
  /** Of a cell of a table: the row's place in the request, from 0, and the column. */
  row?: number;
  column_id?: string;
}

/** At most so many faults are told at once, so that error metadata stays under 64 KiB. */
export const MAX_FAULTS = 100;

export interface AppErrorOptions {
  /** The field at fault, where there is one. */
  param?: string;
  /** Facts for machines; JSON values only. */
  details?: Record<string, unknown>;
  /** All faults of a request; the answer's `details` are these then. */
  faults?: Fault[];
  /** Seconds after which another try may succeed. */
  retryAfter?: number;
  cause?: unknown;
}

export class AppError extends Error {
  readonly param: string | undefined;
  readonly details: Record<string, unknown>;
  readonly faults: Fault[];
  readonly retryAfter: number | undefined;

  constructor(
    readonly code: Code,
    readonly reason: string,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.param = options.param;
    this.details = options.details ?? {};
    this.faults = (options.faults ?? []).slice(0, MAX_FAULTS);
    this.retryAfter = options.retryAfter;
  }
}

/**
 * Declares an error in one line. `{name}` in the template is replaced by the detail of that name,
 * and every detail is handed on to the client.
 *
 *     export const NotATable = defineError('FAILED_PRECONDITION', 'not_a_table', 'resource {id} is not a table');
 *     throw NotATable({ id });
 */
export function defineError(code: Code, reason: string, template: string) {
  return (details: Record<string, unknown> = {}, options: Omit<AppErrorOptions, 'details'> = {}): AppError => {
    const message = template.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? ''));
    return new AppError(code, reason, message, { ...options, details });
  };
}

export const NotFound = defineError('NOT_FOUND', 'not_found', 'There is no such record, or you may not see it.');
export const InsufficientRole = defineError('PERMISSION_DENIED', 'insufficient_role', 'Your role does not allow this.');
export const TenantBoundary = defineError(
  'PERMISSION_DENIED',
  'tenant_boundary',
  'This credential does not reach that tenant.',
);
export const VersionConflict = defineError(
  'ABORTED',
  'version_conflict',
  'The record has changed: its version is {current_version} now.',
);
export const Unavailable = defineError(
  'UNAVAILABLE',
  'service_unavailable',
  'A part of the service is not available. Try again shortly.',
);
export const Timeout = defineError(
  'DEADLINE_EXCEEDED',
  'timeout',
  'The request took too long; its outcome is not known. Retry with the same Idempotency-Key.',
);
export const Internal = defineError('INTERNAL', 'internal_error', 'Something went wrong on our side.');

/** A request whose fields are at fault; all of them at once. */
export function invalidFields(faults: Fault[]): AppError {
  const [only] = faults;
  if (faults.length === 1 && only !== undefined) {
    return new AppError('INVALID_ARGUMENT', only.code, only.message, { param: only.param, faults });
  }
  return new AppError('INVALID_ARGUMENT', 'validation_failed', `${faults.length} fields are not valid.`, { faults });
}

/** One field at fault. */
export function invalidField(param: string, code: string, message: string): AppError {
  return invalidFields([{ param, code, message }]);
}

/** Any thrown value as an AppError: what is not one already becomes `internal_error` with its cause. */
export function asAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : Internal({}, { cause: thrown });
}
