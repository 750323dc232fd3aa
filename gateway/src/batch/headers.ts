import type { IncomingHttpHeaders } from 'node:http';
import { mediaType } from '@commonplace/kit/http';

/** Headers of the batch that apply to each of its calls: the credential, the client, its address and its context. */
const INHERITED = [
  ...['host', 'authorization', 'cookie', 'x-csrf-token', 'origin', 'user-agent', 'x-forwarded-for'],
  ...['accept-language', 'x-client-request-id', 'x-tenant', 'x-workspace-id', 'x-share-link'],
];

/** Headers that a call can have of its own. */
const OWN: ReadonlySet<string> = new Set([
  ...['accept', 'accept-language', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'],
  ...['x-client-request-id', 'x-tenant', 'x-workspace-id', 'x-share-link'],
]);

/** Headers by which a batch is limited to a tenant, a workspace or a link, and which its calls do not replace. */
const NARROWING: ReadonlySet<string> = new Set(['x-tenant', 'x-workspace-id', 'x-share-link']);

/** Headers of answers that programs read. */
const ANSWERED = [
  ...['Allow', 'Cache-Control', 'Content-Language', 'Content-Type', 'Deprecation', 'ETag', 'Idempotency-Replayed'],
  ...['Link', 'Location', 'Original-Request-Id', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'Sunset'],
  ...['WWW-Authenticate', 'X-Request-Id'],
];

/** Matches values that HTTP can carry unchanged. */
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Returns the headers of the batch that apply to each of its calls. */
export function inheritedHeaders(batch: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = batch[name];
    if (typeof value === 'string') headers[name] = value;
  }
  return headers;
}

/** Returns what is wrong with a header of a call; undefined if nothing is. `name` is in lower case. */
export function headerFault(name: string, value: string, batch: IncomingHttpHeaders): string | undefined {
  if (!OWN.has(name)) return 'is not a header that a call can have of its own.';
  if (!PRINTABLE.test(value)) return 'must be printable ASCII.';
  if (name === 'accept' && value.toLowerCase().includes('text/event-stream')) {
    return 'must not ask for a stream of events, which a batch cannot contain.';
  }
  if (name === 'content-type' && mediaType(value) !== 'application/json') return 'must be application/json.';
  const ofBatch = batch[name];
  if (NARROWING.has(name) && ofBatch !== undefined && ofBatch !== value) {
    return 'is a header of the batch, too, and must have the same value.';
  }
  return undefined;
}

/** Returns the headers of an answer that programs read, in their usual spelling. */
export function answeredHeaders(answer: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of ANSWERED) {
    const value = answer[name.toLowerCase()];
    if (typeof value === 'string') headers[name] = value;
  }
  return headers;
}
