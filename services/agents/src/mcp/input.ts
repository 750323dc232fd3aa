import { type Fault, invalidField, invalidFields } from '@commonplace/kit/errors';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import { namesByValue } from '@commonplace/platform/enums';
import {
  type McpAuthInput,
  McpAuthType,
  type McpToolNames,
  McpTransport,
} from '@commonplace/proto/agents/v1/mcp_server.js';
import type { McpAuthTerms, McpSecrets, McpServerRecord, RequireApproval } from '../stores/mcp-servers.js';

/** The settings of a server in a request, which creates or changes it. */
interface McpInput {
  readonly url?: string | undefined;
  readonly transport: McpTransport;
  readonly auth: McpAuthInput | undefined;
  readonly headers: Buffer;
  readonly allowedTools: McpToolNames | undefined;
  readonly requireApproval: Buffer;
  readonly blockedTools: McpToolNames | undefined;
  readonly readOnlyTools: McpToolNames | undefined;
  readonly idempotentTools: McpToolNames | undefined;
  readonly timeoutMs?: number | undefined;
  readonly perUserAuth?: boolean | undefined;
}

/** Checks and normalizes a URL. Throws `url_not_allowed` if it must not be called. */
export function readUrl(guard: Guard, text: string): string {
  try {
    const url = guard.check(text);
    url.hash = '';
    return url.href;
  } catch (error) {
    if (error instanceof UrlNotAllowed) throw invalidField('url', 'url_not_allowed', error.message);
    throw error;
  }
}

/** The authorization settings of a request, with the secrets kept separate. */
export interface ReadAuth {
  readonly terms: McpAuthTerms;
  readonly secrets: Pick<McpSecrets, 'token' | 'clientSecret'>;
}

/** Reads the authorization settings. Throws for fields that are missing or belong to another type. */
export function readAuth(input: McpAuthInput | undefined): ReadAuth {
  const type = TYPES[input?.type ?? McpAuthType.UNSPECIFIED] ?? 'none';
  const given: Partial<McpAuthInput> & Pick<McpAuthInput, 'scopes'> = input ?? { scopes: [] };
  const faults: Fault[] = [];
  const fields: Record<string, string | undefined> = {
    ...{ token: given.token, header_name: given.headerName, value: given.value },
    ...{ client_id: given.clientId, client_secret: given.clientSecret },
  };
  const allowed = FIELDS[type];
  for (const [name, value] of Object.entries(fields)) {
    const param = `auth.${name}`;
    if (value !== undefined && !allowed.all.includes(name)) faults.push(stray(param, type));
    if (!value && allowed.required.includes(name)) {
      faults.push({ param, code: 'missing_field', message: `is required for the type ${type}.` });
    }
  }
  if (given.scopes.length > 0 && type !== 'oauth2') faults.push(stray('auth.scopes', type));
  if (given.scopes.some((scope) => !SCOPE.test(scope))) {
    faults.push({ param: 'auth.scopes', code: 'invalid_value', message: 'must be scopes without spaces.' });
  }
  if (given.clientSecret !== undefined && given.clientId === undefined) {
    faults.push({ param: 'auth.client_id', code: 'missing_field', message: 'is required for a client_secret.' });
  }
  const token = given.token ?? given.value;
  if (token !== undefined && !HEADER_VALUE.test(token)) {
    const param = type === 'header' ? 'auth.value' : 'auth.token';
    faults.push({ param, code: 'invalid_value', message: 'must be printable ASCII.' });
  }
  if (given.headerName !== undefined) checkHeaderName('auth.header_name', given.headerName, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return {
    terms: {
      type,
      headerName: given.headerName?.toLowerCase(),
      clientId: given.clientId,
      scopes: [...given.scopes],
      hasSecret: token !== undefined || given.clientSecret !== undefined,
    },
    secrets: { token, clientSecret: given.clientSecret },
  };
}

const TYPES: Partial<Record<McpAuthType, McpAuthTerms['type']>> = namesByValue(McpAuthType);

const FIELDS: Record<McpAuthTerms['type'], { readonly required: readonly string[]; readonly all: readonly string[] }> =
  {
    none: { required: [], all: [] },
    bearer: { required: ['token'], all: ['token'] },
    header: { required: ['header_name', 'value'], all: ['header_name', 'value'] },
    oauth2: { required: [], all: ['client_id', 'client_secret'] },
  };

const stray = (param: string, type: string): Fault => ({
  ...{ param, code: 'invalid_value' },
  message: `is not allowed for the type ${type}.`,
});

/** A scope according to RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]+$/;
/** Headers that the protocol or the connection sets. */
const RESERVED =
  /^(host|content-.*|connection|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*|accept|cookie|mcp-.*|last-event-id|idempotency-key|traceparent|tracestate)$/;

function checkHeaderName(param: string, name: string, faults: Fault[]): void {
  if (!HEADER_NAME.test(name)) faults.push({ param, code: 'invalid_value', message: 'is not a valid header name.' });
  else if (RESERVED.test(name.toLowerCase())) {
    faults.push({ param, code: 'invalid_value', message: 'is a header that is set by the protocol.' });
  }
}

const MAX_HEADERS = 20;
const MAX_HEADER_VALUE = 8_192;

/** Reads the additional headers of requests. Throws for invalid ones. */
export function readHeaders(bytes: Buffer): Record<string, string> {
  const given = bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Record<string, unknown>);
  const faults: Fault[] = [];
  const entries = Object.entries(given);
  if (entries.length > MAX_HEADERS) {
    faults.push({ param: 'headers', code: 'invalid_value', message: `may be at most ${MAX_HEADERS}.` });
  }
  const read: Record<string, string> = {};
  for (const [name, value] of entries) {
    const param = `headers.${name.slice(0, 64)}`;
    checkHeaderName(param, name, faults);
    if (typeof value !== 'string' || value.length > MAX_HEADER_VALUE || !HEADER_VALUE.test(value)) {
      faults.push({ param, code: 'invalid_value', message: 'must be a text of printable ASCII.' });
    } else read[name.toLowerCase()] = value;
  }
  if (faults.length > 0) throw invalidFields(faults);
  return read;
}

/** Reads the setting which tools require an approval. */
function readRequireApproval(bytes: Buffer): RequireApproval {
  if (bytes.length === 0) return 'always';
  const value = JSON.parse(bytes.toString()) as unknown;
  if (value === 'always' || value === 'never') return value;
  const lists = (typeof value === 'object' && value !== null ? value : undefined) as
    | { readonly always?: unknown; readonly never?: unknown }
    | undefined;
  const [always, never] = [lists?.always ?? [], lists?.never ?? []];
  const isKnown = lists !== undefined && Object.keys(lists).every((name) => name === 'always' || name === 'never');
  if (!isKnown || !isNames(always) || !isNames(never)) {
    const message = 'must be always, never, or an object of the lists always and never.';
    throw invalidField('require_approval', 'invalid_value', message);
  }
  return { always, never };
}

/** Reads the names of tools to accept, or `all`. */
export function readAcceptTools(bytes: Buffer): readonly string[] | 'all' {
  const value = JSON.parse(bytes.toString()) as unknown;
  if (value === 'all') return value;
  if (!isNames(value) || value.length === 0) {
    throw invalidField('accept_tools', 'invalid_value', 'must be all, or a list of names of tools.');
  }
  return value;
}

const MAX_NAMES = 200;

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= MAX_NAMES &&
  value.every((name) => typeof name === 'string' && name.length <= 128);

/** Returns the simple fields of a server that a request sets; `isSet` returns whether a field is set. */
export function readTerms(input: McpInput, isSet: (name: string) => boolean): Partial<Pick<McpServerRecord, Term>> {
  const names = (given: McpToolNames | undefined) => [...new Set(given?.items ?? [])];
  return {
    ...(isSet('transport') && { transport: input.transport === McpTransport.SSE ? 'sse' : 'streamable_http' }),
    ...(isSet('allowed_tools') && { allowedTools: input.allowedTools && names(input.allowedTools) }),
    ...(isSet('blocked_tools') && { blockedTools: names(input.blockedTools) }),
    ...(isSet('require_approval') && { requireApproval: readRequireApproval(input.requireApproval) }),
    ...(isSet('read_only_tools') && { readOnlyTools: names(input.readOnlyTools) }),
    ...(isSet('idempotent_tools') && { idempotentTools: names(input.idempotentTools) }),
    ...(input.timeoutMs !== undefined && { timeoutMs: input.timeoutMs }),
    ...(input.perUserAuth !== undefined && { perUserAuth: input.perUserAuth }),
  };
}

type Term =
  | 'transport'
  | 'allowedTools'
  | 'blockedTools'
  | 'requireApproval'
  | 'readOnlyTools'
  | 'idempotentTools'
  | 'timeoutMs'
  | 'perUserAuth';
