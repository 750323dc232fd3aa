import type { CallOptions } from '@commonplace/kit/rpc';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Returns the options of a call on behalf of the user who requested an export, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = ['resource:read', 'content:read', 'file:read', 'comment:read', 'snapshot:read', 'tag:read'];
/**
 * Milliseconds for which a token is used again, so that an account that was disabled acts no longer. A token is valid for
 * long enough to outlast a slow call.
 */
const REUSE_MS = 1_000;
const CALL_TIMEOUT_MS = 30_000;

/** Acts as the administrator who requested an export, as long as they belong to its tenant. No token is stored. */
export function actingFor(
  parts: Pick<ArchiveParts, 'auth' | 'systemCall'>,
  { userId, orgId }: Pick<ArchiveRecord, 'userId' | 'orgId'>,
): Acting {
  let token = '';
  let requestedAt = Number.NEGATIVE_INFINITY;
  return async (timeoutMs = CALL_TIMEOUT_MS) => {
    if (Date.now() > requestedAt + REUSE_MS) {
      const askedAt = Date.now();
      const answer = await parts.auth.actAs(
        { userId, orgId, scopes: SCOPES, agent: undefined, workspaceIds: [], automation: undefined, chain: [] },
        parts.systemCall(),
      );
      token = answer.token;
      requestedAt = askedAt;
    }
    const { metadata, deadline: _, ...rest } = parts.systemCall(timeoutMs);
    return { ...rest, metadata: { ...metadata, token }, deadline: Date.now() + timeoutMs };
  };
}
