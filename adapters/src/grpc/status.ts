import {
  AnswerLost,
  AppError,
  type Code,
  type Fault,
  Internal,
  OlderPeer,
  Timeout,
  Unavailable,
} from '@commonplace/kit/errors';
import { BadRequest, ErrorInfo, RetryInfo } from '@commonplace/proto/google/rpc/error_details.js';
import { Status } from '@commonplace/proto/google/rpc/status.js';
import { status } from '@grpc/grpc-js';

/** Key of the trailer that holds a `google.rpc.Status` with its details. */
export const STATUS_KEY = 'grpc-status-details-bin';
const DOMAIN = 'commonplace';
const TYPE = 'type.googleapis.com/google.rpc.';

/** Encodes an AppError: ErrorInfo holds the reason, BadRequest the faults, RetryInfo the delay. */
export function encodeStatus(error: AppError): Buffer {
  const metadata: Record<string, string> = { details: JSON.stringify(error.details) };
  if (error.param !== undefined) metadata.param = error.param;
  const cells = error.faults.map(({ row, column_id }) => (row === undefined ? null : [row, column_id]));
  if (cells.some((cell) => cell !== null)) metadata.cells = JSON.stringify(cells);
  const captchas = error.faults.map(({ captcha }) => captcha ?? null);
  if (captchas.some((captcha) => captcha !== null)) metadata.captchas = JSON.stringify(captchas);
  const details = [
    { typeUrl: `${TYPE}ErrorInfo`, value: encoded(ErrorInfo, { reason: error.reason, domain: DOMAIN, metadata }) },
  ];
  if (error.faults.length > 0) {
    const fieldViolations = error.faults.map(({ param, code, message }) => ({
      field: param,
      reason: code,
      description: message,
      localizedMessage: undefined,
    }));
    details.push({ typeUrl: `${TYPE}BadRequest`, value: encoded(BadRequest, { fieldViolations }) });
  }
  if (error.retryAfter !== undefined) {
    const retryDelay = { seconds: error.retryAfter, nanos: 0 };
    details.push({ typeUrl: `${TYPE}RetryInfo`, value: encoded(RetryInfo, { retryDelay }) });
  }
  return encoded(Status, { code: status[error.code], message: error.message, details });
}

function encoded<T>(type: { encode(message: T): { finish(): Uint8Array } }, message: T): Buffer {
  return Buffer.from(type.encode(message).finish());
}

/** Returns the AppError that a status in a trailer encodes. */
export function decodeStatus(bytes: Buffer): AppError {
  const { code, message, details } = Status.decode(bytes);
  const part = (name: string) => details.find(({ typeUrl }) => typeUrl === TYPE + name)?.value;
  const infoBytes = part('ErrorInfo');
  const info = infoBytes === undefined ? undefined : ErrorInfo.decode(infoBytes);
  if (info === undefined || info.domain !== DOMAIN) return ofCode(code, new Error(message), { isRead: true });
  const faultBytes = part('BadRequest');
  const retryBytes = part('RetryInfo');
  const faults = faultBytes === undefined ? [] : BadRequest.decode(faultBytes).fieldViolations;
  const cells: unknown[] = JSON.parse(info.metadata.cells ?? '[]');
  const captchas: (Fault['captcha'] | null)[] = JSON.parse(info.metadata.captchas ?? '[]');
  return new AppError(status[code] as Code, info.reason, message, {
    details: JSON.parse(info.metadata.details ?? '{}'),
    faults: faults.map(({ field, reason, description }, i) => ({
      param: field,
      code: reason,
      message: description,
      ...cellOf(cells[i]),
      ...(captchas[i] ? { captcha: captchas[i] } : {}),
    })),
    ...(info.metadata.param === undefined ? {} : { param: info.metadata.param }),
    ...(retryBytes === undefined ? {} : { retryAfter: RetryInfo.decode(retryBytes).retryDelay?.seconds ?? 1 }),
  });
}

/** Returns the cell of a fault, for which BadRequest has no field. */
function cellOf(cell: unknown): { row?: number; column_id?: string } {
  return Array.isArray(cell) ? { row: Number(cell[0]), column_id: String(cell[1]) } : {};
}

/**
 * grpc-js's message for a call that the peer closed without a status, as an overloaded process does. grpc-js reports it
 * as INTERNAL, but like a lost connection it may be temporary.
 */
const ENDED_WITHOUT_STATUS = 'Received RST_STREAM with code 0';
/** grpc-js's messages for a call that was sent, and whose connection ended before the answer. */
const CONNECTION_ENDED = /^14 UNAVAILABLE: (Connection dropped|(read|write) E[A-Z]+)/;

/**
 * Returns the AppError for a gRPC code without a status, which a failure of the transport produces. A write that was
 * sent may have taken effect; a read can simply be repeated.
 */
export function ofCode(code: number, cause: Error, { isRead }: { isRead: boolean }): AppError {
  const isClosed = code === status.INTERNAL && cause.message.includes(ENDED_WITHOUT_STATUS);
  if (!isRead && (isClosed || CONNECTION_ENDED.test(cause.message))) return AnswerLost({}, { cause, retryAfter: 1 });
  if (isClosed || code === status.UNAVAILABLE) return Unavailable({}, { cause, retryAfter: 1 });
  if (code === status.DEADLINE_EXCEEDED) return Timeout({}, { cause });
  if (code === status.UNIMPLEMENTED) return OlderPeer({ cause });
  if (code === status.CANCELLED) return new AppError('CANCELLED', 'timeout', 'The call was cancelled.', { cause });
  return Internal({}, { cause });
}
