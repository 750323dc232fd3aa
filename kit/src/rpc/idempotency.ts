import { AppError, type Code } from '../errors/index.js';
import type { CollectionSpec, StoredRecord } from '../store/port.js';
import type { Idempotency, Reply } from './port.js';

/** The first outcome of a request, committed together with the request's effect. */
export interface IdempotencyRecord extends StoredRecord {
  readonly fingerprint: string;
  readonly requestId: string;
  readonly expiresAt: string;
  /** The answer, as the message's bytes in base64; absent if the outcome is an error. */
  readonly answer?: string;
  readonly status?: number;
  /** Fields of the answer that were shown once and are not stored. */
  readonly withheld?: readonly string[];
  readonly error?: StoredError;
}

interface StoredError {
  readonly code: Code;
  readonly reason: string;
  readonly message: string;
  readonly param?: string;
  readonly details: Record<string, unknown>;
}

/** Milliseconds that an outcome is kept: 24 hours. */
const IDEMPOTENCY_WINDOW_MS = 24 * 3600 * 1000;

export const IDEMPOTENCY_COLLECTION: CollectionSpec<IdempotencyRecord> = {
  name: 'idempotency',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** Returns whether an error is the final outcome of a request: one that was decided by state after execution began. */
export function isLastingError(error: AppError): boolean {
  return error.code === 'FAILED_PRECONDITION' || error.code === 'ALREADY_EXISTS' || error.code === 'ABORTED';
}

export function recordOfError(
  idempotency: Idempotency,
  requestId: string,
  error: AppError,
): Omit<IdempotencyRecord, 'version'> {
  const { code, reason, message, param, details } = error;
  return {
    ...recordOf(idempotency, requestId),
    error: { code, reason, message, details, ...(param === undefined ? {} : { param }) },
  };
}

export function recordOfAnswer(
  idempotency: Idempotency,
  requestId: string,
  answer: Buffer,
  reply: Reply,
  withheld: ReadonlySet<string>,
): Omit<IdempotencyRecord, 'version'> {
  return {
    ...recordOf(idempotency, requestId),
    answer: answer.toString('base64'),
    ...(reply.status === undefined ? {} : { status: reply.status }),
    ...(withheld.size === 0 ? {} : { withheld: [...withheld] }),
  };
}

function recordOf(idempotency: Idempotency, requestId: string) {
  return {
    id: idempotency.id,
    fingerprint: idempotency.fingerprint,
    requestId,
    expiresAt: new Date(Date.now() + IDEMPOTENCY_WINDOW_MS).toISOString(),
  };
}

/** Returns the stored answer's bytes, or throws the stored error. */
export function replay(record: IdempotencyRecord, reply: Reply): Buffer {
  reply.replayOf = record.requestId;
  if (record.status !== undefined) reply.status = record.status;
  if (record.withheld !== undefined) {
    const fields = record.withheld.map(nameOfField).join(', ');
    reply.warnings = [{ code: 'secret_not_replayed', message: `Shown once and not again: ${fields}.` }];
  }
  if (record.error !== undefined) {
    const { code, reason, message, param, details } = record.error;
    throw new AppError(code, reason, message, { details, ...(param === undefined ? {} : { param }) });
  }
  return Buffer.from(record.answer ?? '', 'base64');
}

/** Returns the name of a field in the API, in snake case as in the contract: `form.submitUrl` → `form.submit_url`. */
function nameOfField(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function keyReused(): AppError {
  return new AppError('ABORTED', 'idempotency_key_reused', 'This Idempotency-Key was used for another request.');
}

export function keyInProgress(): AppError {
  return new AppError('ABORTED', 'idempotency_in_progress', 'The first request with this Idempotency-Key still runs.', {
    retryAfter: 1,
  });
}
