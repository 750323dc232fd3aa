import type { CallOptions } from '@commonplace/kit/rpc';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Options of a call in the name of who asked for an export, within so many milliseconds. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = ['resource:read', 'content:read', 'file:read', 'comment:read', 'snapshot:read', 'tag:read'];
/** A token is asked for again so long before its end. */
const SPARE_MS = 10_000;
const CALL_MS = 30_000;

/** Acts as the administrator who asked for an export, as long as they belong to its tenant. No token is kept. */
export function actingFor(
  parts: Pick<ArchiveParts, 'auth' | 'systemCall'>,
  { userId, orgId }: Pick<ArchiveRecord, 'userId' | 'orgId'>,
): Acting {
  let token = '';
  let until = 0;
  return async (timeoutMs = CALL_MS) => {
    if (Date.now() > until - SPARE_MS) {
      const answer = await parts.auth.actAs({ userId, orgId, scopes: SCOPES }, parts.systemCall());
      token = answer.token;
      until = Date.parse(answer.expiresAt ?? '');
    }
    const { metadata, deadline: _, ...rest } = parts.systemCall(timeoutMs);
    return { ...rest, metadata: { ...metadata, token }, deadline: Date.now() + timeoutMs };
  };
}
