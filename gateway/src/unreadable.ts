import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SecurityHeaders } from '@commonplace/kit/http';
import { newRequestId } from '@commonplace/kit/id';

/**
 * Milliseconds for which a client may read the answer before its connection is closed. Closing at once would discard the
 * answer if the client is still sending, and waiting for the client to close would let it keep the connection forever.
 */
const LAST_ANSWER_MS = 2000;

interface Refusal {
  readonly status: string;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly headers: SecurityHeaders;
}

const INVALID: Omit<Refusal, 'code' | 'message'> = { status: '400 Bad Request', type: 'invalid_request', headers: [] };

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const message = 'The request did not arrive in time.';
    return {
      status: '503 Service Unavailable',
      type: 'server',
      code: 'timeout',
      message,
      headers: [['Retry-After', '1']],
    };
  }
  return code === 'HPE_HEADER_OVERFLOW'
    ? { ...INVALID, code: 'payload_too_large', message: 'The headers are too large.' }
    : { ...INVALID, code: 'invalid_value', message: 'This is not a request that can be read.' };
}

/**
 * Responds to invalid HTTP requests, oversized headers and requests that did not arrive in time with the documented
 * error, and closes the connection. `latest` is the latest response of the connection.
 */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  latest: ServerResponse | undefined,
  headers: SecurityHeaders,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnotherAnswerDue(latest) || isUnused(error, socket)) {
    socket.destroy();
    return;
  }
  socket.end(answerOf(refusalOf(error), headers));
  const timer = setTimeout(() => socket.destroy(), LAST_ANSWER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Returns whether the client would take this answer for a part of another, or for that of an earlier request. */
function isAnotherAnswerDue(latest: ServerResponse | undefined): boolean {
  if (latest === undefined || latest.writableFinished) return false;
  return latest.headersSent || latest.req.complete || latest.socket === null;
}

/** Returns whether a connection that was opened in advance has never been used: its client expects no answer. */
function isUnused({ code }: NodeJS.ErrnoException, socket: Duplex): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' && 'bytesRead' in socket && socket.bytesRead === 0;
}

function answerOf({ status, type, code, message, headers: own }: Refusal, headers: SecurityHeaders): string {
  const requestId = newRequestId();
  const retryable = type === 'server';
  const error = { type, code, message, param: null, details: {}, retryable, doc_url: null };
  const body = JSON.stringify({ error, request_id: requestId });
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Cache-Control: no-store',
    ...[...own, ...headers].map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
