import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { withinCall } from '../../deadline/index.js';
import { AppError, Internal, Timeout, Unavailable } from '../../errors/index.js';
import { LostRace, UniqueTaken } from '../port.js';

const DUPLICATE_KEY = 11000;
/** MaxTimeMSExpired, ExceededTimeLimit, NetworkTimeout, WriteConcernTimeout: the outcome is not known. */
const OUT_OF_TIME = new Set([50, 262, 89, 64]);
/** The server steps down, starts or stops: nothing was done. */
const NOT_SERVING = new Set([91, 189, 10107, 11600, 11602, 13435, 13436, 6, 7, 9001, 43, 133, 46]);

/** Errors of the pool of connections, which the driver does not export. */
const AWAY = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClearedError', 'MongoPoolClosedError']);

/** Errors of a connection's socket, which the driver lets out as they are where a write waits for room. */
const SOCKET = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTCONN',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ETIMEDOUT',
]);

/** The collection and index of a duplicate key, where that is what an error is about. */
export function duplicateOf(error: unknown): { index: string; operation: number } | undefined {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return undefined;
  const first = error instanceof MongoBulkWriteError ? [error.writeErrors].flat()[0] : undefined;
  const index = / index: (?:.*\.\$)?(\S+) +dup key/.exec(first?.errmsg ?? error.message)?.[1];
  return { index: index ?? '_id_', operation: first?.index ?? 0 };
}

/** The error beneath: a bulk write hides that of its connection. */
function beneath(error: unknown): unknown {
  return error instanceof MongoBulkWriteError && error.errorResponse instanceof MongoError
    ? error.errorResponse
    : error;
}

/** Whether the connection broke, or took too long: what was sent may have been done. */
export function isBroken(error: unknown): boolean {
  return beneath(error) instanceof MongoNetworkError || isOfSocket(error);
}

function isOfSocket(error: unknown): boolean {
  return error instanceof Error && SOCKET.has(String((error as NodeJS.ErrnoException).code));
}

/** Whether a transaction that ended so may be run again: nothing of it was done. */
export function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('TransientTransactionError');
}

/** Whether a commit that ended so may have been done, and may be asked for again. */
export function isUnknownCommit(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
}

/**
 * What leaves the adapter: its own errors as they are, the driver's as those of kit. A write whose
 * connection broke may have been done.
 */
export function toKitError(thrown: unknown, kind: 'read' | 'write'): Error {
  const error = beneath(thrown);
  if (error instanceof AppError || error instanceof LostRace || error instanceof UniqueTaken) return error;
  if (error instanceof TypeError) return error;
  const options = { cause: error };
  if (isAway(error)) return Unavailable({}, options);
  if (isTransient(error)) return Unavailable({}, options);
  if (isBroken(error)) return kind === 'read' ? Unavailable({}, options) : Timeout({}, options);
  if (isOutOfTime(error)) return Timeout({}, options);
  return Internal({}, options);
}

/** Whether no server was there to ask, or it would not: nothing was done. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError ||
    (error instanceof MongoError && (AWAY.has(error.name) || NOT_SERVING.has(Number(error.code))))
  );
}

function isOutOfTime(error: unknown): boolean {
  return (
    error instanceof MongoWriteConcernError || (error instanceof MongoError && OUT_OF_TIME.has(Number(error.code)))
  );
}

/** Runs a read for as long as its call is waited for, and lets no error of the driver out. */
export async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await withinCall(work());
  } catch (error) {
    throw toKitError(error, 'read');
  }
}
