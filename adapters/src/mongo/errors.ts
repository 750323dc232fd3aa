import { withinCall } from '@commonplace/kit/deadline';
import { AppError, Internal, StorageFull, Timeout, Unavailable } from '@commonplace/kit/errors';
import { LostRace, UniqueTaken } from '@commonplace/kit/store';
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

const DUPLICATE_KEY = 11000;
/**
 * MaxTimeMSExpired, ExceededTimeLimit, NetworkTimeout, WriteConcernTimeout: the outcome of the operation is unknown.
 */
const OUT_OF_TIME = new Set([50, 262, 89, 64]);
/**
 * The server is stepping down, starting or stopping, or a new primary has no data of a majority yet (134): nothing was
 * written.
 */
const NOT_SERVING = new Set([91, 189, 10107, 11600, 11602, 13435, 13436, 6, 7, 9001, 43, 133, 134, 46]);

/** Unauthorized, AuthenticationFailed, AtlasError: the server refuses the credentials or what they may do. */
const REFUSED = new Set([13, 18, 8000]);

const OUT_OF_DISK_SPACE = 14031;
/**
 * Messages by which servers without an error code for it, and hosted servers with a quota, report that the disk is
 * full.
 */
const NO_ROOM = /no space left|out of disk space|disk quota|over your space quota/i;

/** Names of connection pool errors, which the driver does not export. */
const AWAY = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClearedError', 'MongoPoolClosedError']);

/** Codes of socket errors, which the driver passes on unchanged when a write waits for buffer space. */
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

/** Returns the index and the number of the operation of a duplicate key error; undefined for any other error. */
export function duplicateOf(error: unknown): { index: string; operation: number } | undefined {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return undefined;
  const first = error instanceof MongoBulkWriteError ? [error.writeErrors].flat()[0] : undefined;
  const index = / index: (?:.*\.\$)?(\S+) +dup key/.exec(first?.errmsg ?? error.message)?.[1];
  return { index: index ?? '_id_', operation: first?.index ?? 0 };
}

/** Returns the underlying error: a bulk write error hides that of its connection. */
function beneath(error: unknown): unknown {
  return error instanceof MongoBulkWriteError && error.errorResponse instanceof MongoError
    ? error.errorResponse
    : error;
}

/** Returns whether the connection broke or timed out. The operation may have taken effect. */
export function isBroken(error: unknown): boolean {
  return beneath(error) instanceof MongoNetworkError || isOfSocket(error);
}

function isOfSocket(error: unknown): boolean {
  return error instanceof Error && SOCKET.has(String((error as NodeJS.ErrnoException).code));
}

/** Returns whether a transaction that failed with this error may be run again: nothing of it was written. */
export function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('TransientTransactionError');
}

/** Returns whether a commit that failed with this error may have taken effect, and may be sent again. */
export function isUnknownCommit(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
}

/**
 * Converts an error to one that may leave the adapter: the adapter's own errors stay as they are, the driver's become
 * AppErrors. A write whose connection broke may have taken effect.
 */
export function toKitError(thrown: unknown, kind: 'read' | 'write'): Error {
  const error = beneath(thrown);
  if (error instanceof AppError || error instanceof LostRace || error instanceof UniqueTaken) return error;
  if (error instanceof TypeError) return error;
  const options = { cause: error };
  if (isFull(error)) return StorageFull(options);
  if (isAway(error) || isRefused(error)) return Unavailable({}, options);
  if (isTransient(error)) return Unavailable({}, options);
  if (isBroken(error)) return kind === 'read' ? Unavailable({}, options) : Timeout({}, options);
  if (isOutOfTime(error)) return Timeout({}, options);
  return Internal({}, options);
}

/** Returns whether the server has no disk space for a write. */
function isFull(error: unknown): boolean {
  return error instanceof MongoError && (Number(error.code) === OUT_OF_DISK_SPACE || NO_ROOM.test(error.message));
}

/** Returns whether no server could be reached or none accepted the operation: nothing was written. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError ||
    (error instanceof MongoError && (AWAY.has(error.name) || NOT_SERVING.has(Number(error.code))))
  );
}

/** Returns whether the server refused the credentials, as after a rotation: nothing was written. */
export function isRefused(error: unknown): boolean {
  return error instanceof MongoServerError && REFUSED.has(Number(error.code));
}

function isOutOfTime(error: unknown): boolean {
  return (
    error instanceof MongoWriteConcernError || (error instanceof MongoError && OUT_OF_TIME.has(Number(error.code)))
  );
}

/** Runs a read until its call's deadline, and converts the driver's errors. */
export async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await withinCall(work());
  } catch (error) {
    throw toKitError(error, 'read');
  }
}
