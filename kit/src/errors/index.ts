export { createFaults, type Faults } from './faults.js';

/**
 * Canonical gRPC code of an AppError, the only kind of error that is passed between processes. `reason` is the stable
 * code that clients see; the gateway maps both to HTTP.
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

/** One invalid field; `param` is written as in the API (`rows[3].name`). */
export interface Fault {
  param: string;
  code: string;
  message: string;
  /** For a cell of a table: the row's index in the request, starting with 0, and the column. */
  row?: number;
  column_id?: string;
  /** For a captcha: the challenge for the next attempt. */
  captcha?: { challenge: string; bits: number; expires_at: string };
}

/** Maximum number of faults in one error. */
export const MAX_FAULTS = 100;
/** Maximum bytes of all faults in one error, so that error metadata stays below 64 KiB. */
const MAX_FAULT_BYTES = 32 * 1024;
/** Maximum number of characters of the name of a field, and of a message. Both may repeat what a client has sent. */
const MAX_PARAM = 200;
const MAX_MESSAGE = 4000;

export interface AppErrorOptions {
  /** The invalid field, if there is one. */
  param?: string;
  /** Machine-readable facts; JSON values only. */
  details?: Record<string, unknown>;
  /** All faults of a request; they become the `details` of the response. */
  faults?: Fault[];
  /** Seconds after which a retry may succeed. */
  retryAfter?: number;
  cause?: unknown;
  /** Message that is more specific than the declared one about what was wrong and what would be right. */
  message?: string;
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
    super(shortened(message, MAX_MESSAGE), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.param = options.param === undefined ? undefined : fieldName(options.param);
    this.details = options.details ?? {};
    this.faults = withinBytes((options.faults ?? []).slice(0, MAX_FAULTS).map(shortFault));
    this.retryAfter = options.retryAfter;
  }
}

/**
 * Declares an error in one line. `{name}` in the template is replaced by the detail of that name, and every detail is
 * passed to the client.
 *
 *     export const NotATable = defineError('FAILED_PRECONDITION', 'not_a_table', 'resource {id} is not a table');
 *     throw NotATable({ id });
 */
export function defineError(code: Code, reason: string, template: string) {
  return (details: Record<string, unknown> = {}, options: Omit<AppErrorOptions, 'details'> = {}): AppError => {
    const message = options.message ?? template.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? ''));
    return new AppError(code, reason, message, { ...options, details });
  };
}

const defineErrorOf = (code: Code) => (reason: string, template: string) => defineError(code, reason, template);

/** Declares an error for a request that would be invalid at any time: HTTP 400. */
export const defineInvalid = defineErrorOf('INVALID_ARGUMENT');
/** Declares an error for a caller without the right to do this: HTTP 403. */
export const defineForbidden = defineErrorOf('PERMISSION_DENIED');
export const defineNotFound = defineErrorOf('NOT_FOUND');
/** Declares an error for a request that the state of a record, or another request, refuses: HTTP 409. */
export const defineConflict = defineErrorOf('ABORTED');

export const NotFound = defineNotFound('not_found', 'There is no such record, or you may not see it.');
export const InsufficientRole = defineForbidden('insufficient_role', 'Your role does not allow this.');
export const InsufficientScope = defineForbidden('insufficient_scope', 'This needs the scope {scope}.');
export const TenantBoundary = defineForbidden('tenant_boundary', 'This credential does not reach that tenant.');
export const VersionConflict = defineConflict(
  'version_conflict',
  'The record has changed: its version is {current_version} now.',
);
export const WorkspaceArchived = defineConflict(
  'workspace_archived',
  'The workspace is archived and can only be read.',
);
export const LimitReached = defineConflict('limit_reached', 'There may be no more than {limit} {what}.');
export const OrgAdminRequired = defineForbidden('org_admin_required', 'Only administrators of the Org may do this.');
export const NoUpdateField = defineInvalid('no_update_field', 'The request contains no field to change.');
export const Unavailable = defineError(
  'UNAVAILABLE',
  'service_unavailable',
  'A part of the service is not available. Try again shortly.',
);

const OLDER_VERSION = 'older_version';

/**
 * Returns the error of a call that the peer does not know: during an upgrade, a process of the version before may
 * answer, and soon one of this version does.
 */
export function OlderPeer(options: Omit<AppErrorOptions, 'details'> = {}): AppError {
  return Unavailable({ reason: OLDER_VERSION }, { retryAfter: 1, ...options });
}

/** Returns whether a call failed only because the peer has the version before, which does not know it. */
export function isOfOlderPeer(error: unknown): boolean {
  return error instanceof AppError && error.details.reason === OLDER_VERSION;
}

/** Returns a record that a request names in the field `param`. A `not_found` then names the field. */
export async function namedBy<T>(param: string, found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? NotFound({}, { param, cause: error }) : error;
  }
}

const PASSING: ReadonlySet<Code> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'UNAUTHENTICATED']);

/**
 * Returns whether something failed only because a service or store was unavailable or too slow: a retry may succeed. So
 * it does in background work after its token has expired, as during a slow call or while a process was suspended.
 */
export function isPassing(error: unknown): boolean {
  return error instanceof AppError && PASSING.has(error.code);
}

export const Timeout = defineError(
  'DEADLINE_EXCEEDED',
  'timeout',
  'The request took too long; its outcome is not known. Retry with the same Idempotency-Key.',
);
/** The error of a write whose connection ended before its answer: the process that carried it out may have died. */
export const AnswerLost = defineError(
  'UNAVAILABLE',
  'timeout',
  'The connection to a part of the service ended before the answer; the outcome is not known. Retry with the same Idempotency-Key.',
);
/** Seconds after which disk space may have been freed. */
const ROOM_SECONDS = 30;
const NO_ROOM =
  'The server has no disk space left. Nothing was stored; existing data can be read and deleted. Try again later.';

/** Returns the error for a call whose data do not fit on the disk. */
export function StorageFull(options: Omit<AppErrorOptions, 'details'> = {}): AppError {
  return new AppError('UNAVAILABLE', 'storage_full', NO_ROOM, { retryAfter: ROOM_SECONDS, ...options });
}

/** The rate that a request exceeds. `retryAfter` is in seconds, `reason` the kind of limit. */
interface ExceededRate {
  readonly policy: string;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly retryAfter: number;
  readonly reason: string;
}

/** Returns the error for a request that exceeds a rate: HTTP 429. */
export function rateLimitError({ windowSeconds, retryAfter, ...rate }: ExceededRate, message: string): AppError {
  const details = { ...rate, window_seconds: windowSeconds, retry_after_seconds: retryAfter };
  return new AppError('RESOURCE_EXHAUSTED', 'rate_limited', message, { details, retryAfter });
}

/** Codes by which file systems and SQLite report that the disk is full. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

/** Returns whether a write failed because the disk is full. */
export function isStorageFull(error: unknown): boolean {
  if (error instanceof AppError) return error.reason === 'storage_full';
  return FULL.has(String((error as { code?: unknown } | undefined)?.code));
}

/** Codes by which the operating system reports that the process, or the machine, has no file descriptors left. */
const OUT_OF_FILES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** Returns whether something failed only because too many files and connections are open, which passes. */
export function isOutOfFiles(error: unknown): boolean {
  return OUT_OF_FILES.has(String((error as { code?: unknown } | undefined)?.code));
}

export const Internal = defineError('INTERNAL', 'internal_error', 'Something went wrong on our side.');

/**
 * Returns one error for all invalid fields of a request. Each message begins with the name of its field, which is added
 * if it is missing: `must be a list.` becomes `tags must be a list.`; a whole sentence follows the name after a colon.
 */
export function invalidFields(faults: readonly Fault[]): AppError {
  const named = faults.slice(0, MAX_FAULTS).map((fault) => ({ ...fault, message: namingField(fault) }));
  const [only] = named;
  if (faults.length === 1 && only !== undefined) {
    return new AppError('INVALID_ARGUMENT', only.code, only.message, { param: only.param, faults: named });
  }
  return new AppError('INVALID_ARGUMENT', 'validation_failed', `${faults.length} fields are not valid.`, {
    faults: named,
  });
}

/** Returns the name of a field as errors repeat it: well-formed, and shortened if a client has sent a very long one. */
export function fieldName(param: string): string {
  return shortened(param, MAX_PARAM);
}

function namingField({ param, message }: Fault): string {
  if (param === '' || beginsWith(message, param)) return message;
  const last = param.slice(param.lastIndexOf('.') + 1);
  if (beginsWith(message, last)) return fieldName(param) + message.slice(last.length);
  return `${fieldName(param)}${/^[a-z]/.test(message) ? '' : ':'} ${message}`;
}

function beginsWith(message: string, name: string): boolean {
  return message.startsWith(name) && !/^[\w.[]/.test(message.slice(name.length));
}

function shortFault(fault: Fault): Fault {
  return { ...fault, param: fieldName(fault.param), message: shortened(fault.message, MAX_MESSAGE) };
}

/** Returns the first faults that do not have too many bytes together, at least one if there is one. */
function withinBytes(faults: Fault[]): Fault[] {
  let bytes = 0;
  const end = faults.findIndex(({ param, code, message }, i) => {
    bytes += Buffer.byteLength(param) + Buffer.byteLength(code) + Buffer.byteLength(message);
    return i > 0 && bytes > MAX_FAULT_BYTES;
  });
  return end < 0 ? faults : faults.slice(0, end);
}

function shortened(text: string, most: number): string {
  return (text.length > most ? `${text.slice(0, most)}…` : text).toWellFormed();
}

export function invalidField(param: string, code: string, message: string): AppError {
  return invalidFields([{ param, code, message }]);
}

/**
 * Converts any thrown value to an AppError. What is not one becomes `storage_full` if the disk was full,
 * `service_unavailable` if too many files were open, otherwise `internal_error`, with its cause.
 */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (isStorageFull(thrown)) return StorageFull({ cause: thrown });
  return (isOutOfFiles(thrown) ? Unavailable : Internal)({}, { cause: thrown });
}
