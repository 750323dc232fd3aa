import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';

/** Returns the options of a call on behalf of the importer, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = [
  'resource:read',
  'resource:write',
  'content:read',
  'content:write',
  'file:write',
  'tag:write',
  'share:write',
];
/**
 * Milliseconds for which a token is used again, so that an account that was disabled acts no longer. A token is valid for
 * long enough to outlast a slow call.
 */
const REUSE_MS = 1_000;
const CALL_TIMEOUT_MS = 60_000;

/** Acts as the user who began an import, as long as they belong to its tenant. No token is stored. */
export function actingFor(parts: ImportParts, { userId, orgId }: ImportRecord): Acting {
  let token = '';
  let requestedAt = Number.NEGATIVE_INFINITY;
  return async (timeoutMs = CALL_TIMEOUT_MS) => {
    if (Date.now() > requestedAt + REUSE_MS) {
      const askedAt = Date.now();
      const answer = await parts.auth
        .actAs(
          { userId, orgId, scopes: SCOPES, agent: undefined, workspaceIds: [], automation: undefined, chain: [] },
          parts.systemCall(),
        )
        .catch(lostAccess);
      token = answer.token;
      requestedAt = askedAt;
    }
    const { metadata, deadline: _, ...rest } = parts.systemCall(timeoutMs);
    return { ...rest, metadata: { ...metadata, token }, deadline: Date.now() + timeoutMs };
  };
}

/**
 * Throws the fault that ends the import when the importer has lost access; rethrows other errors, which are retried.
 */
export function lostAccess(error: unknown): never {
  const isRefusal = error instanceof AppError && REFUSALS.has(error.code);
  if (!isRefusal) throw error;
  const message = `The person who started the import may no longer write there: ${error.message}`;
  throw new ImportFault('access_lost', message, true, { cause: error });
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set(['PERMISSION_DENIED', 'NOT_FOUND', 'UNAUTHENTICATED']);
