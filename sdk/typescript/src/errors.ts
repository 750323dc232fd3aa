import type { ErrorCode, Fault } from './generated/types.js';

/** What every error of this package is. */
export class CommonplaceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No answer has arrived: the server can not be reached, or the connection broke. */
export class ConnectionError extends CommonplaceError {}

/** An attempt took longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {}

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string | null;
    readonly details?: unknown;
    readonly retryable?: boolean;
    readonly doc_url?: string | null;
  };
  readonly request_id?: string;
}

/** The server has refused a request. */
export class ApiError extends CommonplaceError {
  readonly status: number;
  /** Stable, for programs. A later server may answer codes that this version does not name. */
  readonly code: ErrorCode | (string & {});
  /** The field at fault, where there is one. */
  readonly param: string | null;
  readonly details: unknown;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly docUrl: string | null;
  /** Names the request in the server's logs. */
  readonly requestId: string | null;
  /** Seconds after which another try may succeed; null if the server names none. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, headers: Headers, body: ErrorBody | undefined) {
    const { code, message, param, details, retryable, doc_url } = body?.error ?? {};
    super(message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = code ?? `http_${status}`;
    this.param = param ?? null;
    this.details = details;
    this.retryable = retryable ?? [429, 502, 503, 504].includes(status);
    this.docUrl = doc_url ?? null;
    this.requestId = body?.request_id ?? headers.get('x-request-id');
    this.retryAfterSeconds = secondsOf(headers.get('retry-after'));
  }

  /** All fields at fault; empty if the error is of no field. */
  get faults(): readonly Fault[] {
    if (Array.isArray(this.details)) return this.details as Fault[];
    return this.param === null ? [] : [{ param: this.param, code: this.code, message: this.message }];
  }
}

/** 400: the request is not valid. */
export class InvalidRequestError extends ApiError {}
/** 401: the credential is missing, wrong or expired. */
export class UnauthenticatedError extends ApiError {}
/** 403: the credential or the person may not do this. */
export class ForbiddenError extends ApiError {}
/** 404: the record does not exist, or the caller can not see it. */
export class NotFoundError extends ApiError {}
/** 409: the record's state does not allow this, or it has changed (`version_conflict`). */
export class ConflictError extends ApiError {}
/** 429: too many requests. */
export class RateLimitError extends ApiError {}
/** 5xx: the server failed. */
export class ServerError extends ApiError {}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
};

/** Returns the error of an answer that is none of success. */
export function errorOf(status: number, headers: Headers, text: string): ApiError {
  const Class = CLASSES[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Class(status, headers, parse(text));
}

function parse(text: string): ErrorBody | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

/** Reads `Retry-After`, which is a number of seconds or a date. */
function secondsOf(value: string | null): number | null {
  if (value === null) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}
