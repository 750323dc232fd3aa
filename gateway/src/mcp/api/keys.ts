import { createHash } from 'node:crypto';

/** `_meta` of a tool call as far as it is read here. */
export interface CallMeta {
  readonly 'commonplace.dev/idempotency-key'?: unknown;
  readonly traceparent?: unknown;
  readonly progressToken?: unknown;
}

/** What identifies a tool call. */
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
 * Returns the idempotency key of one step of a tool call; undefined if nothing tells a repetition of the call from another
 * call that is the same. The key is the one that the client gives, in `_meta` or as a header. Without one it is derived
 * from the call and its span, which no other call has; ids of JSON-RPC begin anew with each connection.
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
