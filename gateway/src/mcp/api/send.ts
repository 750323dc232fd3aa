import { traceHeaders } from '@commonplace/kit/telemetry';
import { type OpenInProcess, readText } from '../../in-process.js';
import type { Carrier } from './caller.js';
import { failureOf } from './errors.js';
import { type CallIdentity, keyOfStep, traceparentOf } from './keys.js';
import { type Arguments, type Operations, requestOf } from './operations.js';

/** The API's answer to an operation. */
export interface OperationAnswer {
  readonly data: Readonly<Record<string, unknown>>;
  readonly page?: Readonly<Record<string, unknown>>;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly request_id: string;
}

/** Sends an operation of the API as the caller. Throws `OperationFailed` with the API's error. */
export type SendOperation = (operation: string, args: Arguments) => Promise<OperationAnswer>;

export interface SenderParts {
  readonly operations: Operations;
  readonly send: OpenInProcess;
}

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
 * Creates the function that sends operations for one tool call. Each write has its own idempotency key, derived from
 * the key of the call and the number of the step, so that a repeated call takes effect once.
 */
export function createSender(
  { operations, send }: SenderParts,
  carrier: Carrier,
  identity: CallIdentity,
  signal: AbortSignal,
): SendOperation {
  let step = 0;
  return async (operation, args) => {
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
    const text = await readText(response);
    if ((response.statusCode ?? 500) >= 400) throw failureOf(text, response.headers);
    return JSON.parse(text) as OperationAnswer;
  };
}

function passedOn({ headers }: Carrier): Record<string, string> {
  const kept = PASSED_ON.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
