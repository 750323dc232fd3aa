import type { CallOptions } from '@commonplace/kit/rpc';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Returns the options of a call on behalf of the user who requested an export, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = ['resource:read', 'content:read', 'file:read', 'comment:read', 'snapshot:read', 'tag:read'];
/** Milliseconds before its expiry at which a token is renewed. */
const RENEWAL_MARGIN_MS = 10_000;
const CALL_TIMEOUT_MS = 30_000;

/** Acts as the administrator who requested an export, as long as they belong to its tenant. No token is stored. */
export function actingFor(
  parts: Pick<ArchiveParts, 'auth' | 'systemCall'>,
  { userId, orgId }: Pick<ArchiveRecord, 'userId' | 'orgId'>,
): Acting {
  let token = '';
  let until = 0;
  return async (timeoutMs = CALL_TIMEOUT_MS) => {
    if (Date.now() > until - RENEWAL_MARGIN_MS) {
      const answer = await parts.auth.actAs(
        { userId, orgId, scopes: SCOPES, agent: undefined, workspaceIds: [], automation: undefined, chain: [] },
        parts.systemCall(),
      );
      token = answer.token;
      until = Date.parse(answer.expiresAt ?? '');
    }
    const { metadata, deadline: _, ...rest } = parts.systemCall(timeoutMs);
    return { ...rest, metadata: { ...metadata, token }, deadline: Date.now() + timeoutMs };
  };
}
