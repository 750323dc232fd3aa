import type { ProtocolError } from '@modelcontextprotocol/client';
import type { McpHttp } from './http.js';
import { loadLibrary } from './library.js';
import { MAX_ERROR } from './limits.js';
import { cleanText } from './tool-list.js';

/**
 * `auth`: the server requires authorization. `unreachable`: there was no answer, or not one of the protocol. `refused`:
 * the URL must not be called. `missing`: the server does not know the tool. `answered`: the server answered with an
 * error.
 */
type McpFailureKind = 'auth' | 'unreachable' | 'refused' | 'missing' | 'answered';

/** Thrown if a call of an MCP server has failed. The message can be shown to people. */
export class McpFailure extends Error {
  constructor(
    readonly kind: McpFailureKind,
    message: string,
    /** Whether the server speaks another revision of the protocol than expected. */
    readonly isOtherEra = false,
  ) {
    super(message);
    this.name = 'McpFailure';
  }
}

/** Converts an error of the library or of the connection into a failure. */
export async function mcpFailure(error: unknown, http: McpHttp): Promise<McpFailure> {
  if (error instanceof McpFailure) return error;
  if (http.failure instanceof McpFailure) return http.failure;
  if (http.refusal !== undefined) return new McpFailure('refused', http.refusal.message);
  if (http.tooLarge) return new McpFailure('unreachable', 'The response of the server is too large.');
  const { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode, SdkHttpError, UnsupportedProtocolVersionError } =
    await loadLibrary();
  if (UnsupportedProtocolVersionError.isInstance(error)) {
    return new McpFailure('unreachable', 'The server speaks another revision of the protocol.', true);
  }
  if (ProtocolError.isInstance(error)) return protocolFailure(error, ProtocolErrorCode.MethodNotFound);
  const status = SdkHttpError.isInstance(error) ? error.status : undefined;
  if (status === 401 || status === 403) {
    return new McpFailure('auth', `The server asks for an authorization (HTTP ${status}).`);
  }
  if (status === 404) return new McpFailure('missing', 'The server has nothing at this URL (HTTP 404).', true);
  if (status !== undefined) return new McpFailure('unreachable', `The server has answered with HTTP ${status}.`);
  const isTimeout = SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout;
  if (isTimeout || isAbort(error)) return new McpFailure('unreachable', 'The server has not answered in time.');
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.ListPaginationExceeded) {
    return new McpFailure('unreachable', 'The list of tools has too many pages.');
  }
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.EraNegotiationFailed) {
    if (http.error !== undefined)
      return new McpFailure('unreachable', `The server cannot be reached${codeOf(http.error)}.`, true);
    const answer = http.status === undefined ? '' : ` (HTTP ${http.status})`;
    return new McpFailure('unreachable', `The server does not answer by the protocol${answer}.`, true);
  }
  if (SdkError.isInstance(error)) {
    return new McpFailure('unreachable', `The server does not follow the protocol (${error.code}).`);
  }
  return new McpFailure('unreachable', `The server cannot be reached${codeOf(error)}.`);
}

const UNSUPPORTED_VERSION = -32_022;

function protocolFailure({ code, message }: ProtocolError, methodNotFound: number): McpFailure {
  if (code === UNSUPPORTED_VERSION) return new McpFailure('unreachable', 'The server speaks another revision.', true);
  if (code === methodNotFound) return new McpFailure('missing', 'The server does not know this call.');
  return new McpFailure('answered', `The server has answered with the error ${code}: ${shorten(message)}`);
}

/** Shortens a text from a server to one line and removes invisible characters. */
export function shorten(text: string): string {
  const clean = cleanText(text).replace(/\s+/g, ' ');
  return clean.length > MAX_ERROR ? `${clean.slice(0, MAX_ERROR)}…` : clean;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}

function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === 'string') return ` (${code})`;
  }
  return '';
}
