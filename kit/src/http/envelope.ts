import type { Reply } from '../rpc/index.js';

/** Wraps serialized JSON as `{data, page?, warnings?, request_id}`. */
export function envelope(data: string, page: string | undefined, reply: Reply, requestId: string): string {
  return ENVELOPE_START + data + envelopeEnd(page, reply, requestId);
}

/** Start of an envelope, up to its data. */
export const ENVELOPE_START = '{"data":';

/** Returns the end of an envelope, after its data. */
export function envelopeEnd(page: string | undefined, reply: Reply, requestId: string): string {
  const paged = page === undefined ? '' : `,"page":${page}`;
  const warned = reply.warnings === undefined ? '' : `,"warnings":${JSON.stringify(reply.warnings)}`;
  return `${paged}${warned},"request_id":"${requestId}"}`;
}
