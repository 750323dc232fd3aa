import { traceHeaders } from '@commonplace/kit/telemetry';
import { type OpenInProcess, readAll } from '../../in-process.js';
import type { AnswerReader, AskedPart, OperationAnswer } from '../answers/index.js';
import type { Carrier } from './caller.js';
import { failureOf } from './errors.js';
import { type CallIdentity, keyOfStep, traceparentOf } from './keys.js';
import { type Arguments, type Operations, requestOf } from './operations.js';

/**
 * Sends an operation of the API as the caller, for its answer or only a part of the content in it. Throws
 * `OperationFailed` with the API's error.
 */
export type SendOperation = (operation: string, args: Arguments, part?: AskedPart) => Promise<OperationAnswer>;

/** Sends the operations of one tool call. */
export interface Sender {
  readonly send: SendOperation;
  /** Returns whether something was left out of an answer, because a result could not show all of it. */
  hasLeftOut(): boolean;
}

export interface SenderParts {
  readonly operations: Operations;
  readonly send: OpenInProcess;
  readonly answers: AnswerReader;
  /** Maximum number of characters of text in a result. */
  readonly resultChars: number;
}

/**
 * Multiple of a result's characters that an answer may have before the rest is left out. A tool shows only some fields
 * of each record.
 */
const READ_CHARS = 4;

/** Headers of the MCP request that are copied to its requests to the API: credential, client address and context. */
const PASSED_ON = [
  'host',
  'authorization',
  'x-tenant',
  'x-workspace-id',
  'x-share-link',
  'x-forwarded-for',
  'x-client-request-id',
  'user-agent',
  'accept-language',
];

/**
 * Creates the sender of one tool call. Each write has its own idempotency key, derived from
 * the key of the call and the number of the step, so that a repeated call takes effect once.
 */
export function createSender(
  { operations, send, answers, resultChars }: SenderParts,
  carrier: Carrier,
  identity: CallIdentity,
  signal: AbortSignal,
): Sender {
  const { tenant, userId } = carrier.caller;
  let step = 0;
  let leftOut = false;
  const sendOperation: SendOperation = async (operation, args, part) => {
    const route = operations.get(operation);
    if (route === undefined) throw new Error(`there is no operation ${operation}`);
    const { method, path, body } = requestOf(route, args);
    step += 1;
    const key = method === 'GET' ? undefined : keyOfStep(identity, step);
    const trace = traceparentOf(identity.meta) ?? carrier.traceparent;
    const response = await send({
      method,
      path,
      body,
      headers: {
        ...passedOn(carrier),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...traceHeaders(trace),
      },
      remoteAddress: carrier.remoteAddress,
      signal,
    });
    const bytes = await readAll(response);
    if ((response.statusCode ?? 500) >= 400) throw failureOf(bytes.toString('utf8'), response.headers);
    const shape = { maxChars: READ_CHARS * resultChars, part };
    const { answer, isShortened } = await answers.read(tenant?.orgId ?? userId, bytes, shape);
    leftOut ||= isShortened;
    return answer;
  };
  return { send: sendOperation, hasLeftOut: () => leftOut };
}

function passedOn({ headers }: Carrier): Record<string, string> {
  const kept = PASSED_ON.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
