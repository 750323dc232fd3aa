import { isStorageFull } from '@commonplace/kit/errors';

/** Exit codes of a process that cannot start, as in sysexits.h. */
const START_EXIT = {
  /** The address is in use or does not exist. */
  unavailable: 69,
  /** A folder or file cannot be created or written. */
  cantCreate: 73,
  /** The operating system denies permission. */
  noPermission: 77,
} as const;

/** Why a process cannot start, in one line for its operator. */
interface StartFailure {
  readonly line: string;
  readonly exitCode: number;
}

interface SystemError {
  readonly code?: string;
  readonly syscall?: string;
  readonly path?: string;
  readonly address?: string;
  readonly port?: number;
}

/** Ports below this number need a special permission. */
const FIRST_FREE_PORT = 1024;
const FILE_CODES: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EISDIR', 'ENOENT']);

/** Describes an error that the operator can fix; returns undefined for a fault of the program. */
export function startFailureOf(error: unknown): StartFailure | undefined {
  const { code = '', syscall = '', path, address = '', port } = causeOf(error);
  if (syscall === 'listen' || syscall === 'bind') return listenFailure(code, address, port);
  if (isStorageFull(error)) {
    return { line: 'The disk of the data folder is full: make room on it.', exitCode: START_EXIT.cantCreate };
  }
  if (path === undefined || !FILE_CODES.has(code)) return undefined;
  return { line: `${path} cannot be written (${REASONS[code] ?? code}).`, exitCode: START_EXIT.cantCreate };
}

/** Returns the system error that caused an error of the program. */
function causeOf(error: unknown): SystemError {
  const { cause, syscall } = error as { cause?: unknown; syscall?: string };
  return syscall === undefined && cause instanceof Error ? causeOf(cause) : (error as SystemError);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is no folder',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist and cannot be created',
};

function listenFailure(code: string, address: string, port: number | undefined): StartFailure | undefined {
  const place = port === undefined ? address : `${address}:${port}`;
  if (code === 'EADDRINUSE') {
    const line = `Port ${port} of ${address} is in use by another process: end it, or set another port.`;
    return { line, exitCode: START_EXIT.unavailable };
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return { line: `This machine has no address ${address} to listen on.`, exitCode: START_EXIT.unavailable };
  }
  if (code !== 'EACCES' && code !== 'EPERM') return undefined;
  const why = port !== undefined && port < FIRST_FREE_PORT ? `: ports below ${FIRST_FREE_PORT} need a right` : '';
  return { line: `This user may not listen on ${place}${why}.`, exitCode: START_EXIT.noPermission };
}
