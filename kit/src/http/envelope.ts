import type { Reply } from '../rpc/index.js';

/** Wraps serialized JSON as `{data, page?, warnings?, request_id}`. */
export function envelope(data: string, page: string | undefined, reply: Reply, requestId: string): string {
  const paged = page === undefined ? '' : `,"page":${page}`;
  const warned = reply.warnings === undefined ? '' : `,"warnings":${JSON.stringify(reply.warnings)}`;
  return `{"data":${data}${paged}${warned},"request_id":"${requestId}"}`;
}
