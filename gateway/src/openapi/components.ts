import { UUID_PATTERN } from '@commonplace/kit/id';
import { ERROR_TYPES, type ErrorStatus } from '@commonplace/platform/error-codes';
import { MAX_CURSOR, MAX_DEPTH } from '../request/page.js';
import type { Schema } from './values.js';

/** Names of the error responses by status. */
export const ERROR_RESPONSES: Readonly<Record<ErrorStatus, string>> = {
  400: 'InvalidRequest',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
};

const header = (description: string, schema: Schema): Schema => ({ description, schema });
const text = { type: 'string' };

/** Headers of answers. */
export const HEADERS: Readonly<Record<string, Schema>> = {
  'X-Request-Id': header('Names the request in logs and to support; the same as `request_id`.', text),
  ETag: header('`"v<version>.<hash of the body>"`, for `If-Match` and `If-None-Match`.', text),
  RateLimit: header('What is left of each policy: `"default";r=2999;t=12`.', text),
  'RateLimit-Policy': header('The policies that hold: `"default";q=3000;w=60`.', text),
  'Retry-After': header(
    'Seconds after which another try may succeed, or a record that is not final be looked at again.',
    { type: 'integer', minimum: 1 },
  ),
  'Idempotency-Replayed': header('`true` where the answer is that of an earlier request with the same key.', text),
  'Original-Request-Id': header('The request that a replayed answer was given to.', text),
  'WWW-Authenticate': header('What the credential lacks (RFC 6750).', text),
};

const inHeader = (name: string, description: string, schema: Schema): Schema => ({
  name,
  in: 'header',
  description,
  schema,
});

/** Parameters that endpoints share. */
export const PARAMETERS: Readonly<Record<string, Schema>> = {
  IdempotencyKey: inHeader(
    'Idempotency-Key',
    'Makes a write safe to send again: within 24 hours the same key and body get the first answer again.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' },
  ),
  IfMatch: inHeader('If-Match', 'The ETag, or `"v<version>"`, that the record must still have; `*` for any.', {
    type: 'string',
    pattern: '^(\\*|(W/)?"?v[0-9]{1,10}(\\.[A-Za-z0-9_-]+)?"?)$',
  }),
  IfNoneMatch: inHeader('If-None-Match', 'The ETag of what the client has: 304 when it is still good.', text),
  Tenant: inHeader('X-Tenant', "`personal` or an Org's id; by default that of the ids used.", {
    type: 'string',
    pattern: `^(personal|${UUID_PATTERN})$`,
  }),
  WorkspaceId: inHeader('X-Workspace-Id', 'Narrows the request to one workspace.', { type: 'string', format: 'uuid' }),
  ShareLink: inHeader(
    'X-Share-Link',
    'The token of a share link, for what it opens. A GET also takes `?share_link=`.',
    text,
  ),
  ClientRequestId: inHeader(
    'X-Client-Request-Id',
    "The client's own name for the request. The server logs its first 128 characters beside its own request id.",
    text,
  ),
  Offset: {
    name: 'offset',
    in: 'query',
    description: 'How many items to leave out; 0 when absent. With `limit` at most 10,000.',
    schema: { type: 'integer', minimum: 0, maximum: MAX_DEPTH },
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    description: 'The `next_cursor` of a page, to go on after it; excludes `offset`.',
    schema: { type: 'string', maxLength: MAX_CURSOR },
  },
};

/** Credentials. A browser session needs its CSRF token on writes. */
export const SECURITY_SCHEMES: Readonly<Record<string, Schema>> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: "An API key (`wsk_…`) or an identity provider's JSON Web Token.",
  },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-session', description: 'A browser session.' },
  csrf: {
    type: 'apiKey',
    in: 'header',
    name: 'X-CSRF-Token',
    description: 'Needed beside a browser session on everything but GET.',
  },
};

/** Schemas of the envelope of every answer. */
export const ENVELOPE_SCHEMAS: Readonly<Record<string, Schema>> = {
  RequestId: { type: 'string', pattern: '^req_[a-z2-7]{26}$', description: 'Names the request.' },
  Warning: {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: text,
      message: text,
      details: { type: 'object', description: 'Facts for programs.', additionalProperties: true },
    },
  },
  Fault: {
    type: 'object',
    description: 'What is wrong with one field.',
    required: ['param', 'code', 'message'],
    properties: {
      param: { type: 'string', description: 'Path of the field: `rows[3].name`.' },
      code: text,
      message: text,
      captcha: {
        type: 'object',
        description: 'Of `captcha_token`: what to work on for the next one.',
        required: ['challenge', 'bits', 'expires_at'],
        properties: { challenge: text, bits: { type: 'integer' }, expires_at: { type: 'string', format: 'date-time' } },
      },
    },
  },
  ErrorDetails: {
    description: 'Facts for programs; for several faults, the list of them.',
    anyOf: [
      { type: 'object', additionalProperties: true },
      { type: 'array', items: { $ref: '#/components/schemas/Fault' } },
    ],
  },
  Problem: {
    type: 'object',
    description: 'The same facts as RFC 9457 has them, for `Accept: application/problem+json`.',
    required: ['type', 'title', 'status', 'code', 'request_id'],
    properties: {
      type: { type: 'string', format: 'uri' },
      title: text,
      status: { type: 'integer' },
      detail: text,
      instance: text,
      code: text,
      request_id: { $ref: '#/components/schemas/RequestId' },
      errors: { type: 'array', items: { $ref: '#/components/schemas/Fault' } },
    },
  },
};

export const ERROR_ENVELOPE = {
  type: 'object',
  required: ['error', 'request_id'],
  properties: {
    error: {
      type: 'object',
      required: ['type', 'code', 'message', 'param', 'details', 'retryable', 'doc_url'],
      properties: {
        type: { type: 'string', enum: [...new Set(Object.values(ERROR_TYPES))] },
        code: { type: 'string', description: 'Stable, for programs. A later version may answer more.' },
        message: { type: 'string', description: 'For people.' },
        param: { type: ['string', 'null'], description: 'The field at fault, where there is one.' },
        details: { $ref: '#/components/schemas/ErrorDetails' },
        retryable: { type: 'boolean' },
        doc_url: {
          type: ['string', 'null'],
          format: 'uri',
          description: 'The page that explains the code; null where the request could not be read as HTTP.',
        },
      },
    },
    request_id: { $ref: '#/components/schemas/RequestId' },
  },
};

/** Returns references to headers by name. */
export function headerRefs(names: readonly string[]): Record<string, Schema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
