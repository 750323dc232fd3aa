import type { CallOptions } from '@commonplace/kit/rpc';
import { type ActAsParts, createActAs } from '@commonplace/platform/acting';
import type { ArchiveRecord } from './records.js';

/** Returns the options of a call on behalf of the user who requested an export, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = ['resource:read', 'content:read', 'file:read', 'comment:read', 'snapshot:read', 'tag:read'];
const CALL_TIMEOUT_MS = 30_000;

/** Acts as the administrator who requested an export, as long as they belong to its tenant. No token is stored. */
export function actingFor(parts: ActAsParts, { userId, orgId }: Pick<ArchiveRecord, 'userId' | 'orgId'>): Acting {
  const actAs = createActAs(parts);
  const request = {
    userId,
    orgId,
    scopes: SCOPES,
    agent: undefined,
    workspaceIds: [],
    automation: undefined,
    chain: [],
  };
  return (timeoutMs = CALL_TIMEOUT_MS) => actAs(request, timeoutMs);
}
