import type { IncomingHttpHeaders } from 'node:http';
import { cancelled } from '@commonplace/kit/deadline';
import { type AppError, Unavailable } from '@commonplace/kit/errors';
import { idempotencyOf } from '@commonplace/kit/http';
import { fingerprint } from '@commonplace/kit/id';
import { traceHeaders } from '@commonplace/kit/telemetry';
import type { BatchCall } from '@commonplace/proto/gateway/v1/batch_service.js';
import { type BatchedCall, type OpenInProcess, readUpTo } from '../in-process.js';
import { answeredHeaders, inheritedHeaders } from './headers.js';
import type { CallAnswer, MakeCall } from './run.js';

/** The request that has brought a batch. */
interface Batch {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly remoteAddress: string;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Called once the client has received the answer or has left. */
  readonly held: (() => void)[];
}

/**
 * Creates the function that makes the calls of a batch. Each passes through all middleware as a request of its own; what
 * may not begin is sent, too, so that all errors are made in one place. Throws if the batch has an invalid
 * `Idempotency-Key`.
 */
export function createMakeCall(open: OpenInProcess, batch: Batch): MakeCall {
  const inherited = { ...inheritedHeaders(batch.headers), ...traceHeaders(batch.traceparent) };
  const keyOf = keysOf(batch);
  const send = async (call: BatchCall, refusal: AppError | undefined, maxBytes: number): Promise<CallAnswer> => {
    const { method, path } = call;
    const { requestId, remoteAddress, deadline, signal } = batch;
    const batched: BatchedCall = { requestId, deadline, refusal, held: [] };
    const headers = { ...inherited, ...keyOf(call), ...ownHeaders(call) };
    const body = call.body.length === 0 || refusal !== undefined ? undefined : call.body;
    const response = await open({ method, path, headers, body, remoteAddress, signal, batched });
    const bytes = await readUpTo(response, maxBytes);
    if (bytes === undefined) for (const release of batched.held) release();
    else batch.held.push(...batched.held);
    return { status: response.statusCode ?? 500, headers: answeredHeaders(response.headers), body: bytes };
  };
  return async (call, refusal, maxBytes) => {
    try {
      return await send(call, refusal, maxBytes);
    } catch (cause) {
      if (batch.signal.aborted) throw cancelled();
      // Its connection broke, so that the outcome is not known. The other calls keep their answers.
      return send(call, Unavailable({}, { cause }), maxBytes);
    }
  };
}

function ownHeaders({ headers, body }: BatchCall): Record<string, string> {
  const own: Record<string, string> = body.length === 0 ? {} : { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(headers)) own[name.toLowerCase()] = value;
  return own;
}

/**
 * Returns the function that derives the idempotency key of each write from that of the batch and the id of the call, so
 * that a repeated batch makes each write once.
 */
function keysOf({ headers, url }: Batch): (call: BatchCall) => Record<string, string> {
  const none: Record<string, string> = {};
  const key = headers['idempotency-key'];
  if (key === undefined) return () => none;
  const { id } = idempotencyOf(String(key), [], 'POST', url, () => '');
  return (call) => (call.method === 'GET' ? none : { 'idempotency-key': `batch-${fingerprint(id, call.id)}` });
}
