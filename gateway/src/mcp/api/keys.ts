import { createHash } from 'node:crypto';

/** The fields of a tool call's `_meta` that this server reads. */
export interface CallMeta {
  readonly 'commonplace.dev/idempotency-key'?: unknown;
  readonly traceparent?: unknown;
  readonly progressToken?: unknown;
}

/** The facts that identify a tool call. */
export interface CallIdentity {
  readonly meta: CallMeta;
  /** Header `Idempotency-Key` of the MCP request. */
  readonly header: string | undefined;
  /** Id of the JSON-RPC request. */
  readonly id: string | number;
  readonly tool: string;
  readonly args: unknown;
}

/**
 * Returns the idempotency key of one step of a tool call; undefined if a repeated call can't be distinguished from
 * another, equal call. A client can give the key in `_meta` or as a header. Otherwise the key is derived from the call
 * and its trace span, which is unique to it; ids of JSON-RPC start again with each connection.
 */
export function keyOfStep(call: CallIdentity, step: number): string | undefined {
  const given = call.meta['commonplace.dev/idempotency-key'] ?? call.header;
  if (given !== undefined) return hash('given', String(given), step);
  const trace = traceparentOf(call.meta);
  return trace === undefined ? undefined : hash('derived', trace, call.id, call.tool, call.args, step);
}

/** Returns the trace context that a client sends with a call (W3C Trace Context); undefined if it is malformed. */
export function traceparentOf({ traceparent }: CallMeta): string | undefined {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

function hash(...parts: readonly unknown[]): string {
  return `mcp-${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
}
