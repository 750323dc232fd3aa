import { BadRequest, ErrorInfo, RetryInfo } from '@commonplace/proto/google/rpc/error_details.js';
import { Status } from '@commonplace/proto/google/rpc/status.js';
import { status } from '@grpc/grpc-js';
import { AppError, type Code, Internal, Timeout, Unavailable } from '../errors/index.js';

/** Where a `google.rpc.Status` with its details stands in a call's trailers. */
export const STATUS_KEY = 'grpc-status-details-bin';
const DOMAIN = 'commonplace';
const TYPE = 'type.googleapis.com/google.rpc.';

/** An AppError on the wire: ErrorInfo for the reason, BadRequest for faults, RetryInfo for the wait. */
export function encodeStatus(error: AppError): Buffer {
  const metadata: Record<string, string> = { details: JSON.stringify(error.details) };
  if (error.param !== undefined) metadata.param = error.param;
  const cells = error.faults.map(({ row, column_id }) => (row === undefined ? null : [row, column_id]));
  if (cells.some((cell) => cell !== null)) metadata.cells = JSON.stringify(cells);
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

/** The AppError that a status in a trailer stands for. */
export function decodeStatus(bytes: Buffer): AppError {
  const { code, message, details } = Status.decode(bytes);
  const part = (name: string) => details.find(({ typeUrl }) => typeUrl === TYPE + name)?.value;
  const infoBytes = part('ErrorInfo');
  const info = infoBytes === undefined ? undefined : ErrorInfo.decode(infoBytes);
  if (info === undefined || info.domain !== DOMAIN) return ofCode(code, new Error(message));
  const faultBytes = part('BadRequest');
  const retryBytes = part('RetryInfo');
  const faults = faultBytes === undefined ? [] : BadRequest.decode(faultBytes).fieldViolations;
  const cells: unknown[] = JSON.parse(info.metadata.cells ?? '[]');
  return new AppError(status[code] as Code, info.reason, message, {
    details: JSON.parse(info.metadata.details ?? '{}'),
    faults: faults.map(({ field, reason, description }, i) => ({
      param: field,
      code: reason,
      message: description,
      ...cellOf(cells[i]),
    })),
    ...(info.metadata.param === undefined ? {} : { param: info.metadata.param }),
    ...(retryBytes === undefined ? {} : { retryAfter: RetryInfo.decode(retryBytes).retryDelay?.seconds ?? 1 }),
  });
}

/** The cell of a fault, which BadRequest has no field for. */
function cellOf(cell: unknown): { row?: number; column_id?: string } {
  return Array.isArray(cell) ? { row: Number(cell[0]), column_id: String(cell[1]) } : {};
}

/** What a bare gRPC code means, where the peer has said no more: the transport's own failures. */
export function ofCode(code: number, cause: Error): AppError {
  if (code === status.DEADLINE_EXCEEDED) return Timeout({}, { cause });
  if (code === status.UNAVAILABLE) return Unavailable({}, { cause, retryAfter: 1 });
  if (code === status.CANCELLED) return new AppError('CANCELLED', 'timeout', 'The call was given up.', { cause });
  return Internal({}, { cause });
}
